package import SkyrowRemote

/// A function server as the settings describe it.
package struct FunctionServerPlan: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        /// It runs elsewhere.
        case address(FunctionAddress)
        /// The service starts it.
        case program(FunctionProgram)
    }

    /// Upper bound on the function servers of a service.
    package static let maximumCount = 32

    package var name: String
    package var place: Place
    /// The longest time of a call; nil for `function-timeout` and `hook-timeout`.
    package var timeout: Duration?
    /// Upper bound on concurrent calls; nil for `function-concurrency`.
    package var concurrency: Int?
    /// The built-in actions whose names its functions may have, which `function:call` then reaches.
    package var overrides: Set<String> = []

    package init(_ name: String, at place: Place) {
        self.name = name
        self.place = place
    }

    /// Whether the text is a letter followed by at most 31 letters, digits, hyphens and underscores, all in lower case.
    package static func isName(_ text: some StringProtocol) -> Bool {
        guard (1...32).contains(text.utf8.count), let first = text.utf8.first, (0x61...0x7a).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy {
            (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "-_".utf8.contains($0)
        }
    }
}

/// A function server that the service starts.
package struct FunctionProgram: Hashable, Sendable {
    /// The program and its arguments, in which `{address}` stands for the host and the port to listen on.
    package var command: [String]
    /// The working directory.
    package var directory: String
    /// The files whose changes replace the server, such as `*.py`, relative to the directory.
    package var watch: [String]
    /// Variables that are added to those of the service.
    package var environment: [String: String] = [:]
    /// Upper bound on the resident bytes of its processes; nil for no bound.
    package var memory: Int?

    package init(_ command: [String], in directory: String, watch: [String] = [], memory: Int? = nil) {
        self.command = command
        self.directory = directory
        self.watch = watch
        self.memory = memory
    }
}

/// The text form of an amount of memory: an integer and a unit of `KB`, `MB` or `GB`, each 1024 of the one before.
package enum MemoryText {
    private static let units: [(name: String, bytes: Int)] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)]

    /// Parses an amount from 16 MB to 1024 GB; nil for any other text.
    package static func bytes(_ text: String) -> Int? {
        guard let unit = units.first(where: { text.hasSuffix($0.name) }), text.utf8.count <= 12,
            let count = Int(text.dropLast(unit.name.count)), count > 0
        else { return nil }
        let bytes = count.multipliedReportingOverflow(by: unit.bytes)
        return !bytes.overflow && (16 << 20...1 << 40).contains(bytes.partialValue) ? bytes.partialValue : nil
    }
}
