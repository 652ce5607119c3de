package com.example.semver;

import java.util.Objects;

/** A semantic version, as in 1.4.0-rc.1 (https://semver.org, version 2.0.0). */
public final class Version implements Comparable<Version> {
    private final int major;
    private final int minor;
    private final int patch;
    private final String preRelease; // empty for a release

    public Version(int major, int minor, int patch, String preRelease) {
        if (major < 0 || minor < 0 || patch < 0) {
            throw new IllegalArgumentException("a version has no negative numbers");
        }
        this.major = major;
        this.minor = minor;
        this.patch = patch;
        this.preRelease = Objects.requireNonNull(preRelease, "preRelease");
    }

    /** Reads a version; a leading v is accepted, and what follows a + is ignored. */
    public static Version parse(String text) {
        if (text == null || text.isBlank()) {
            throw new IllegalArgumentException("there is no version");
        }
        String rest = text.strip();
        if (rest.startsWith("v")) {
            rest = rest.substring(1);
        }
        int plus = rest.indexOf('+');
        if (plus >= 0) {
            rest = rest.substring(0, plus);
        }
        String pre = "";
        int dash = rest.indexOf('-');
        if (dash >= 0) {
            pre = rest.substring(dash + 1);
            rest = rest.substring(0, dash);
            if (pre.isEmpty()) {
                throw new IllegalArgumentException("nothing follows the dash: " + text);
            }
        }
        String[] part = rest.split("\\.", -1);
        if (part.length != 3) {
            throw new IllegalArgumentException("a version has three numbers: " + text);
        }
        return new Version(number(part[0]), number(part[1]), number(part[2]), pre);
    }

    private static int number(String digits) {
        if (digits.isEmpty() || digits.length() > 9 || !digits.chars().allMatch(Character::isDigit)) {
            throw new IllegalArgumentException("not a number: " + digits);
        }
        if (digits.length() > 1 && digits.charAt(0) == '0') {
            throw new IllegalArgumentException("a leading zero: " + digits);
        }
        return Integer.parseInt(digits);
    }

    /** Reports whether this version can take the place of another one. */
    public boolean compatibleWith(Version other) {
        if (major == 0 || other.major == 0) {
            return major == other.major && minor == other.minor && compareTo(other) >= 0;
        }
        return major == other.major && compareTo(other) >= 0;
    }

    @Override
    public int compareTo(Version other) {
        if (major != other.major) {
            return Integer.compare(major, other.major);
        }
        if (minor != other.minor) {
            return Integer.compare(minor, other.minor);
        }
        if (patch != other.patch) {
            return Integer.compare(patch, other.patch);
        }
        if (preRelease.isEmpty() || other.preRelease.isEmpty()) {
            return Boolean.compare(preRelease.isEmpty(), other.preRelease.isEmpty());
        }
        return comparePreRelease(preRelease.split("\\."), other.preRelease.split("\\."));
    }

    private static int comparePreRelease(String[] a, String[] b) {
        for (int i = 0; i < Math.min(a.length, b.length); i++) {
            boolean x = a[i].chars().allMatch(Character::isDigit);
            boolean y = b[i].chars().allMatch(Character::isDigit);
            int order;
            if (x && y) {
                order = Integer.compare(a[i].length(), b[i].length());
                if (order == 0) {
                    order = a[i].compareTo(b[i]);
                }
            } else if (x != y) {
                order = x ? -1 : 1; // numbers come first
            } else {
                order = a[i].compareTo(b[i]);
            }
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(a.length, b.length);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Version other && compareTo(other) == 0;
    }

    @Override
    public int hashCode() {
        return Objects.hash(major, minor, patch, preRelease);
    }

    @Override
    public String toString() {
        String text = major + "." + minor + "." + patch;
        return preRelease.isEmpty() ? text : text + "-" + preRelease;
    }
}
