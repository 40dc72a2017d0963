package import Glibc
import SkyrowConcurrency
import Synchronization

/// A program to start, with everything that it inherits.
package struct Command: Sendable {
    /// The program, which is looked up in the service's `PATH` if it has no slash, and its arguments.
    package var arguments: [String]
    package var environment: [String: String]
    /// The child's descriptors 0, 1, 2, …; it gets no others. `FileDescriptor`s stay open at least until it has started.
    package var descriptors: [FileDescriptor]
    /// Whether it leaves the terminal's process group, so that Ctrl-C interrupts only the service.
    package var leavesProcessGroup = false
    /// Whether the rest of its process group is killed when it has ended; for a command that `leavesProcessGroup`.
    package var endsProcessGroup = false
    /// Whether it starts a session, so that it survives when all processes of this session are killed.
    package var leavesSession = false

    package init(_ arguments: [String], environment: [String: String], descriptors: [FileDescriptor]) {
        self.arguments = arguments
        self.environment = environment
        self.descriptors = descriptors
    }

    /// Starts the program and returns its process id; throws ``ToolError`` if there is no such program.
    package func spawn() throws(ToolError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // The descriptors are copied out of the way first, so that no dup2 overwrites one that must still be copied.
        let aside = (descriptors.map(\.number).max() ?? 0) + 1
        for (place, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor.number, aside + Int32(place))
        }
        for place in descriptors.indices {
            posix_spawn_file_actions_adddup2(&actions, aside + Int32(place), Int32(place))
        }
        // Descriptors that others have opened, such as a listening socket, must not stay open in the child.
        for open in contentsOfDirectory("/proc/self/fd") ?? [] {
            if let number = Int32(open), number >= descriptors.count {
                posix_spawn_file_actions_addclose(&actions, number)
            }
        }
        for place in descriptors.indices { posix_spawn_file_actions_addclose(&actions, aside + Int32(place)) }

        // The service ignores some signals, and a new program inherits that.
        var all = sigset_t()
        var none = sigset_t()
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if leavesProcessGroup { flags |= POSIX_SPAWN_SETPGROUP }
        // POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift does not import.
        if leavesSession { flags |= 0x80 }
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let argv = arguments.map { strdup($0) }
        let envp = environment.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") }
        defer {
            for string in argv + envp { free(string) }
        }
        var pid: pid_t = 0
        let failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, argv + [nil], envp + [nil])
        guard failure == 0 else {
            errno = failure
            throw .system("Cannot start \(arguments[0])")
        }
        return pid
    }
}

/// How a process ended.
package enum ProcessExit: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    package var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal)"
        }
    }
}

/// A running program, with the thread that started it and waits for its end.
///
/// The thread matters: Linux sends the parent-death signal, by which an orphaned PostgreSQL detects the end of the service, when
/// the thread that started the child ends (prctl(2), PR_SET_PDEATHSIG).
package final class ChildProcess: Sendable {
    package let processID: pid_t
    private let endsGroup: Bool
    private let isRunning = Mutex(true)
    private let end = Deferred<ProcessExit>()

    private init(processID: pid_t, endsGroup: Bool) {
        self.processID = processID
        self.endsGroup = endsGroup
    }

    /// Starts a program; throws ``ToolError`` if it cannot be started.
    package static func launch(_ command: Command) async throws(ToolError) -> ChildProcess {
        let started = Deferred<Result<ChildProcess, ToolError>>()
        let failure = DetachedThread.start {
            do throws(ToolError) {
                let child = ChildProcess(processID: try command.spawn(), endsGroup: command.endsProcessGroup)
                started.settle(.success(child))
                child.awaitEnd()
            } catch {
                started.settle(.failure(error))
            }
        }
        guard failure == 0 else {
            errno = failure
            throw .system("Cannot start a thread")
        }
        return try await started.value().get()
    }

    /// How the program ended; waits until it has.
    package var exit: ProcessExit {
        get async { await end.value() }
    }

    /// How the program ended; waits until it has, and kills it when the task is cancelled or a time has passed.
    ///
    /// - Parameter sleep: Sleeps for the longest time that it may run.
    package func exit(within sleep: @escaping @Sendable () async throws -> Void) async -> ProcessExit {
        await end.value(during: sleep) { _ in self.send(signal: SIGKILL) }
    }

    /// How the program ended; nil while it runs.
    package var exitIfEnded: ProcessExit? { end.settled }

    /// Sends a signal, unless the program has ended.
    package func send(signal: Int32) {
        isRunning.withLock { if $0 { _ = kill(processID, signal) } }
    }

    /// Sends a signal to its process group, which it has to itself, unless the program has ended.
    package func sendToGroup(signal: Int32) {
        isRunning.withLock { if $0 { _ = kill(-processID, signal) } }
    }

    private func awaitEnd() {
        // The process id stays in use until waitpid, which runs under the lock, so no signal can go to another process.
        var info = siginfo_t()
        while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        let status = isRunning.withLock { isRunning -> ProcessExit in
            if endsGroup { kill(-processID, SIGKILL) }
            var word: Int32 = 0
            while waitpid(processID, &word, 0) < 0, errno == EINTR {}
            isRunning = false
            let signal = word & 0x7f
            return signal == 0 ? .exited((word >> 8) & 0xff) : .killed(signal: signal)
        }
        end.settle(status)
    }
}
