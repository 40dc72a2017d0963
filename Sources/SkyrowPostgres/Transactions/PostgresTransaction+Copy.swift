internal import CLibpq

extension PostgresTransaction {
    /// Feeds `COPY … FROM STDIN` and returns the number of rows.
    ///
    /// ```swift
    /// try await transaction.copyIn("COPY movie (title, year) FROM STDIN (FORMAT csv)", chunks: lines)
    /// ```
    ///
    /// A chunk may end anywhere, even inside a row. When `chunks` throws or the task is cancelled, no row is stored and the
    /// transaction can only be rolled back.
    package func copyIn<Chunks: AsyncSequence>(_ statement: SQL, chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        try await perform { connection throws(PostgresError) in try connection.beginCopyIn(statement) }
        do {
            for try await chunk in chunks {
                try await perform { connection throws(PostgresError) in try connection.put(chunk) }
            }
            // Many sequences end early without an error when their task is cancelled.
            try Task.checkCancellation()
        } catch {
            _ = try? await perform(isCancellable: false) { connection throws(PostgresError) in
                try connection.endCopyIn(failure: "the import was aborted")
            }
            throw error
        }
        // Only the end is timed: the time before it depends on the producer of the chunks.
        return try await perform(statement) { connection throws(PostgresError) in
            try connection.endCopyIn(failure: nil)
        }
    }
}

extension PostgresConnection {
    fileprivate func beginCopyIn(_ statement: SQL) throws(PostgresError) {
        try beginCopy(statement, PGRES_COPY_IN, form: "COPY … FROM STDIN")
    }

    /// Sends a COPY and waits until the server is ready for it.
    func beginCopy(_ statement: SQL, _ direction: ExecStatusType, form: String) throws(PostgresError) {
        if let failure = statement.bindings.failure { throw failure }
        guard statement.bindings.isEmpty else {
            throw PostgresError(code: .misuse, message: "COPY cannot have values")
        }
        guard PQsendQuery(handle, statement.text) == 1, let result = PQgetResult(handle) else {
            throw PostgresError(code: .connectionLost, message: lastMessage)
        }
        defer { PQclear(result) }
        guard PQresultStatus(result) != direction else { return }
        let isFailure = PQresultStatus(result) == PGRES_FATAL_ERROR
        let error = isFailure ? PostgresError(result: result) : nil
        while let extra = PQgetResult(handle) {
            let status = PQresultStatus(extra)
            PQclear(extra)
            if status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH {
                gate.markBroken()
                break
            }
        }
        throw error ?? PostgresError(code: .misuse, message: "The statement is not a \(form)")
    }

    fileprivate func put(_ chunk: [UInt8]) throws(PostgresError) {
        // libpq takes lengths as 32-bit integers, so chunks are sent in parts.
        var rest = chunk[...]
        while !rest.isEmpty {
            let part = rest.prefix(1 << 20)
            let status = part.withUnsafeBytes { bytes in
                PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            }
            guard status == 1 else { throw PostgresError(code: .connectionLost, message: lastMessage) }
            rest = rest.dropFirst(part.count)
        }
    }

    @discardableResult
    fileprivate func endCopyIn(failure: String?) throws(PostgresError) -> Int {
        let status = failure.map { PQputCopyEnd(handle, $0) } ?? PQputCopyEnd(handle, nil)
        guard status == 1 else { throw PostgresError(code: .connectionLost, message: lastMessage) }
        return try finishAlone().affectedRows
    }
}
