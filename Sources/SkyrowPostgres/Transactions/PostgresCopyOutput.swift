internal import CLibpq

extension PostgresTransaction {
    /// Runs `COPY … TO STDOUT` and lends `body` the output as the server sends it.
    ///
    /// ```swift
    /// try await transaction.copyOut("COPY movie TO STDOUT (FORMAT csv)") { output in
    ///     for try await chunk in output { try file.write(chunk) }
    ///     print("\(output.rowCount) rows")
    /// }
    /// ```
    ///
    /// When `body` ends before the output does, the COPY is cancelled and the transaction can only be rolled back.
    package func copyOut<Success>(
        _ statement: SQL,
        _ body: (PostgresCopyOutput) async throws -> Success
    ) async throws -> Success {
        try await perform { connection throws(PostgresError) in
            try connection.beginCopy(statement, PGRES_COPY_OUT, form: "COPY … TO STDOUT")
        }
        let output = PostgresCopyOutput(transaction: self)
        do {
            let success = try await body(output)
            if !output.isAtEnd { await abandonCopy() }
            return success
        } catch {
            if !output.isAtEnd { await abandonCopy() }
            throw error
        }
    }

    private func abandonCopy() async {
        _ = try? await perform(isCancellable: false) { connection throws(PostgresError) in connection.abandonCopyOut() }
    }
}

/// The output of `COPY … TO STDOUT`: chunks of whole rows, each ending with the row in which it exceeds 256 KB.
///
/// It is read once, and the server waits while it is not read. Lent by ``PostgresTransaction/copyOut(_:_:)``.
package final class PostgresCopyOutput: AsyncSequence {
    private static let chunkLength = 256 << 10

    private let transaction: PostgresTransaction
    /// Whether all output was read.
    private(set) var isAtEnd = false
    /// The number of rows, once all output was read.
    package private(set) var rowCount = 0

    fileprivate init(transaction: PostgresTransaction) {
        self.transaction = transaction
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let output: PostgresCopyOutput

        /// The next chunk; nil at the end. Throws ``PostgresError``, or `CancellationError`.
        package mutating func next() async throws -> [UInt8]? {
            try await output.next()
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(output: self)
    }

    private func next() async throws -> [UInt8]? {
        if isAtEnd { return nil }
        let (chunk, rowCount) = try await transaction.perform { connection throws(PostgresError) in
            try connection.takeCopyData(upTo: PostgresCopyOutput.chunkLength)
        }
        if let rowCount {
            isAtEnd = true
            self.rowCount = rowCount
        }
        return chunk.isEmpty ? nil : chunk
    }
}

extension PostgresConnection {
    /// Reads rows until they have `length` bytes; at the end of the output, returns the total number of rows.
    fileprivate func takeCopyData(upTo length: Int) throws(PostgresError) -> (chunk: [UInt8], rowCount: Int?) {
        var chunk: [UInt8] = []
        while chunk.count < length {
            var row: UnsafeMutablePointer<CChar>?
            let count = PQgetCopyData(handle, &row, 0)
            if count > 0, let row {
                chunk.append(contentsOf: UnsafeRawBufferPointer(start: row, count: Int(count)))
                PQfreemem(row)
            } else if count == -1 {
                return (chunk, try finishAlone().affectedRows)
            } else {
                gate.markBroken()
                throw PostgresError(code: .connectionLost, message: lastMessage)
            }
        }
        return (chunk, nil)
    }

    /// Cancels the COPY and discards its output.
    fileprivate func abandonCopyOut() {
        guard PQtransactionStatus(handle) == PQTRANS_ACTIVE else { return }
        if let cancel = PQgetCancel(handle) {
            var complaint = [CChar](repeating: 0, count: 256)
            PQcancel(cancel, &complaint, Int32(complaint.count))
            PQfreeCancel(cancel)
        }
        var row: UnsafeMutablePointer<CChar>?
        while PQgetCopyData(handle, &row, 0) > 0 { PQfreemem(row) }
        while let result = PQgetResult(handle) { PQclear(result) }
    }
}
