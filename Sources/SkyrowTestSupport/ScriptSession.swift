import CLibpq
import Foundation
import SkyrowConcurrency
import Synchronization

/// A database session for one script of a test, on a blocking thread. Its output has the form of `psql -qAt`.
///
/// It replaces psql, of which a whole run would start ten thousand processes.
final class ScriptSession: Sendable {
    private struct Connection {
        var socket: Int32?
        var isCut = false
    }

    private let connection = Mutex(Connection())
    private let idle: IdleSessions?

    private init(_ idle: IdleSessions?) {
        self.idle = idle
    }

    /// Runs statements in order, up to the first failure.
    ///
    /// - Parameter idle: The pool that provides the session and takes it back.
    /// - Throws: ``TemporaryClusterError`` with the server's message, or ``WaitTimedOut``.
    static func run(
        _ statements: [String],
        url: String,
        keptIn idle: IdleSessions? = nil,
        within limit: Duration = patience
    ) async throws -> String {
        let session = ScriptSession(idle)
        let script = statements.joined(separator: ";\n").prefix(1000)
        return try await waiting(for: "the end of \(script)", within: limit) {
            session.cut()
        } _: {
            let output = Deferred<Result<String, any Error>>()
            Thread.detachNewThread { output.settle(Result { try session.run(statements, url: url) }) }
            return try await output.value().get()
        }
    }

    private func run(_ statements: [String], url: String) throws -> String {
        let handle = idle?.take() ?? PQconnectdb("\(url)&fallback_application_name=psql&connect_timeout=600")
        var isUsable = false
        defer { if isUsable, let idle, let handle { idle.put(handle) } else { PQfinish(handle) } }
        guard PQstatus(handle) == CONNECTION_OK else { throw Self.failure(PQerrorMessage(handle)) }
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        let isCut = connection.withLock { connection in
            connection.socket = PQsocket(handle)
            return connection.isCut
        }
        // Cleared before the socket closes, as its number may be reused.
        defer { connection.withLock { $0.socket = nil } }
        guard !isCut else { throw TemporaryClusterError(description: "The wait for the session had an end") }
        var output: [UInt8] = []
        for statement in statements {
            let result = PQexec(handle, statement)
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
            case PGRES_TUPLES_OK: Self.append(result, to: &output)
            case PGRES_COPY_OUT: try Self.appendCopy(from: handle, to: &output)
            default: throw Self.failure(PQerrorMessage(handle))
            }
        }
        isUsable = true
        return String(decoding: output, as: UTF8.self)
    }

    private func cut() {
        connection.withLock { connection in
            connection.isCut = true
            if let socket = connection.socket { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    private static func append(_ result: OpaquePointer?, to output: inout [UInt8]) {
        let columns = PQnfields(result)
        for row in 0..<PQntuples(result) {
            for column in 0..<columns {
                if column > 0 { output.append(UInt8(ascii: "|")) }
                guard let value = PQgetvalue(result, row, column) else { continue }
                append(value, count: PQgetlength(result, row, column), to: &output)
            }
            output.append(UInt8(ascii: "\n"))
        }
    }

    private static func appendCopy(from handle: OpaquePointer?, to output: inout [UInt8]) throws {
        var line: UnsafeMutablePointer<CChar>?
        var count = PQgetCopyData(handle, &line, 0)
        while count > 0 {
            if let line { append(line, count: count, to: &output) }
            PQfreemem(line)
            count = PQgetCopyData(handle, &line, 0)
        }
        // The results are the statement's, and the end of results.
        while let result = PQgetResult(handle) {
            defer { PQclear(result) }
            guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw failure(PQerrorMessage(handle)) }
        }
    }

    private static func append(_ value: UnsafePointer<CChar>, count: Int32, to output: inout [UInt8]) {
        output.append(contentsOf: UnsafeRawBufferPointer(start: value, count: Int(count)))
    }

    private static func failure(_ message: UnsafePointer<CChar>?) -> TemporaryClusterError {
        TemporaryClusterError(description: message.map { String(cString: $0) } ?? "")
    }
}

/// A pool of idle sessions. Starting a session takes the server longer than most scripts.
final class IdleSessions: Sendable {
    /// The addresses of libpq connections, each used by one thread at a time.
    private let sessions = Mutex<[UInt]>([])

    /// Returns a session that still works; its server may have been stopped.
    func take() -> OpaquePointer? {
        while let address = sessions.withLock({ $0.popLast() }) {
            let handle = OpaquePointer(bitPattern: address)
            let answer = PQexec(handle, "")
            defer { PQclear(answer) }
            if PQresultStatus(answer) == PGRES_EMPTY_QUERY { return handle }
            PQfinish(handle)
        }
        return nil
    }

    func put(_ handle: OpaquePointer) {
        let address = UInt(bitPattern: handle)
        sessions.withLock { $0.append(address) }
    }

    deinit {
        for address in sessions.withLock({ $0 }) { PQfinish(OpaquePointer(bitPattern: address)) }
    }
}
