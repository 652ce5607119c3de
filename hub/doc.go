// Package hub finds skills and installs them into a folder of skills.
//
// A [Source] is a place that skills come from. There are four: [ClawHub] and
// [WellKnown] are servers, [Git] is a host of repositories, which it gives as
// archives, and [Folder] is a folder of this machine. An [Installer] searches them
// with Find, turns a person's words into one skill of one of them with Lookup, and
// changes its folder with Install, Update, Pin and Remove.
//
// Installing a skill takes these steps. A step that fails leaves the folder as it
// was before:
//
//   - The source resolves the name to a [Release]. A release that it calls
//     malicious is refused, and removed where it is installed. If its verdict
//     cannot be learned, nothing is installed.
//   - The source downloads the release into a hidden folder on the same disk.
//   - Package internal/archive checks all headers before it unpacks the first
//     byte. It refuses links, special files, unsafe names, and more than its bounds
//     allow. It writes only files and folders, with the modes 0644 and 0755.
//   - The digests that the source offers, and a signature, must match the files. A
//     signature must lead to a root in [Config], where there are roots.
//   - Package scan reads the files for what a person should look at first. A skill
//     with such flags, or one that its source calls suspicious, is installed only
//     with [Options.Accept].
//   - One rename puts the skill in place. The file .skill-origin.json beside its
//     files holds an [Origin]: where it came from, and the digest of every file.
//
// Installing runs nothing of a package, and no package grants itself anything. A
// lock in the hidden folder lets one process at a time change the skills.
//
// A model finds and installs skills with the [Tools] find_skills and
// install_skill. It cannot accept flags.
//
//etui:tools groups=skills source=builtin version=1
package hub
