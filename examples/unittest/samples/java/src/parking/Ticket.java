package parking;

/** A parking ticket. Times are minutes since the car park opened; exit is -1 while it is inside. */
public record Ticket(Vehicle vehicle, int entry, int exit, boolean lost) {
    public enum Vehicle { CAR, MOTORCYCLE, BUS }

    public Ticket {
        if (vehicle == null) {
            throw new IllegalArgumentException("a ticket needs a vehicle");
        }
        if (entry < 0 || exit >= 0 && exit < entry) {
            throw new IllegalArgumentException("a vehicle leaves after it came");
        }
    }

    public boolean inside() {
        return exit < 0;
    }

    public int minutes() {
        return exit - entry;
    }
}
