import Glibc
import SkyrowJSON
import SkyrowSystem

/// The memory of process groups, from `/proc`.
enum ProcessGroups {
    /// Returns the resident bytes of every process group of the machine. It reads many files.
    static func residentBytes() -> [pid_t: Int] {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        var groups: [pid_t: Int] = [:]
        for name in contentsOfDirectory("/proc") ?? [] where name.utf8.first.map(isDigit) == true {
            // A process may have ended since.
            guard let status = contentsOfFile("/proc/\(name)/stat"), let found = group(ofStatus: status) else {
                continue
            }
            groups[found.group, default: 0] += found.pages * page
        }
        return groups
    }

    /// Returns the group and the resident pages of a line of `/proc/<pid>/stat`; nil for another text.
    static func group(ofStatus text: String) -> (group: pid_t, pages: Int)? {
        // The format is "pid (comm) state ppid pgrp …", where comm may contain any character (proc(5)).
        guard let end = text.lastIndex(of: ")") else { return nil }
        let words = text[end...].dropFirst().split(separator: " ")
        guard words.count > 21, let group = pid_t(words[2]), let pages = Int(words[21]) else { return nil }
        return (group, pages)
    }
}
