// Package hub finds skills in registries and installs them into a folder of
// skills.
//
// A [Source] says what there is and brings it: [ClawHub] and [WellKnown] over
// HTTP, [Git] as the archive of a repository, [Folder] from this machine. An
// [Installer] puts it into its folder, in a way that leaves either the whole new
// skill there or what was there before:
//
//   - The registry's verdict comes first. What is known to be malicious is
//     refused, and removed where it is installed. When the verdict cannot be
//     learnt, nothing is installed.
//   - The archive is taken into a hidden folder of the same disk. Its headers are
//     checked before a byte of it is unpacked: sizes, counts, names, links. Only
//     files and folders come out, with the modes 0644 and 0755, never more than
//     the bounds in archive.go say.
//   - Digests that the registry offers are held against what came, and a
//     signature against the roots that are trusted.
//   - The text of every file is read for what a person should look at first, see
//     [Flag]. A skill with flags, or one that its registry calls suspicious, is
//     installed only with [Options.Accept].
//   - Then one rename puts the skill in place. Beside its files stands
//     .skill-origin.json, an [Origin]: where it came from, and the digest of each
//     file as it was.
//
// Installing runs nothing of a package, and no package grants itself anything.
// One process installs at a time: others wait for the lock in the hidden folder.
//
// [Tools] are those with which a model finds and installs skills.
//
//etui:tools groups=skills source=builtin version=1
package hub
