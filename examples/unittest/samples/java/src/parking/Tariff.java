package parking;

import parking.Ticket.Vehicle;

/** What parking costs, in cents. */
public final class Tariff {
    public static final int GRACE = 10; // minutes that are free
    public static final int LOST = 4000;
    static final int DAY = 24 * 60;

    private final int perHour;
    private final int perDay;

    /** A tariff by the hour that never costs more than perDay in 24 hours. */
    public Tariff(int perHour, int perDay) {
        if (perHour <= 0 || perDay < perHour) {
            throw new IllegalArgumentException("a day costs at least an hour, and an hour something");
        }
        this.perHour = perHour;
        this.perDay = perDay;
    }

    /** The fee of a ticket whose vehicle leaves. */
    public int fee(Ticket ticket) {
        if (ticket.lost()) {
            return factor(ticket.vehicle()) * LOST / 2;
        }
        if (ticket.inside()) {
            throw new IllegalStateException("the vehicle is still inside");
        }
        int minutes = ticket.minutes();
        if (minutes <= GRACE) {
            return 0;
        }
        int days = minutes / DAY;
        int hours = (minutes % DAY + 59) / 60; // a begun hour counts
        int rest = Math.min(hours * perHour, perDay);
        return factor(ticket.vehicle()) * (days * perDay + rest) / 2;
    }

    /** How much a vehicle pays, in halves of what a car pays. */
    private static int factor(Vehicle vehicle) {
        return switch (vehicle) {
            case MOTORCYCLE -> 1;
            case CAR -> 2;
            case BUS -> 6;
        };
    }

    /** The fee as people read it: "4.50", or "free". */
    public String display(Ticket ticket) {
        int fee = fee(ticket);
        if (fee == 0) {
            return "free";
        }
        return fee / 100 + "." + (fee % 100 < 10 ? "0" : "") + fee % 100;
    }
}
