internal import CLibpq

/// Rows that were copied out of libpq one by one, as they arrived, and counted.
///
/// libpq holds all rows of a result before it hands over the first, unless it is asked for single rows. Copying those
/// into blocks costs about 0.3 µs a row, bounds the memory, and makes a value's place an addition.
///
/// A row is its places, four bytes for each column and four more, and then its values. The place of NULL is marked.
///
/// Written on the connection's thread until it is complete, and only read from then on.
final class CollectedRows {
    private let limit: PostgresRowLimit
    private let columnCount: Int
    private var rows: [UnsafeMutableRawPointer] = []
    private var blocks: [UnsafeMutableRawPointer] = []
    private var free: UnsafeMutableRawPointer?
    private var freeBytes = 0
    private var nextBlock = CollectedRows.blockSizes.lowerBound
    private var held = 0
    private var taken = 0
    /// Why the rows are not kept.
    private(set) var failure: PostgresError.Code?
    /// The first row that lacks columns.
    private(set) var firstShortRow = Int.max
    /// The length of the longest row.
    private(set) var longestRow = 0

    private static let nullMark: UInt32 = 1 << 31
    /// Up to here, rows are not taken from the budget, which all requests share.
    private static let allowance = 64 * 1024
    private static let step = 256 * 1024
    private static let blockSizes = 4 * 1024...64 * 1024

    init(limit: PostgresRowLimit, columnCount: Int) {
        self.limit = limit
        self.columnCount = columnCount
    }

    deinit {
        dropRows()
    }

    var count: Int { rows.count }

    /// Copies the row of a result that has one.
    func append(_ result: OpaquePointer) {
        guard failure == nil else { return }
        var missing = columnCount..<columnCount
        var size = rowSize(result, without: missing)
        longestRow = max(longestRow, size)
        if firstShortRow != .max || !take(size) {
            guard case .keepsColumns(let first, let last) = limit.excess else { return dropRows() }
            missing = min(first, columnCount)..<max(min(first, columnCount), columnCount - last)
            size = rowSize(result, without: missing)
            firstShortRow = min(firstShortRow, rows.count)
        }
        copy(result, without: missing, size: size)
    }

    /// Gives back what was taken in advance.
    func complete() {
        let needed = max(0, held - Self.allowance)
        guard taken > needed else { return }
        limit.budget.giveBackForRows(taken - needed)
        taken = needed
    }

    /// The bytes of a value; nil for NULL and beyond the end.
    @inline(__always)
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        guard row >= 0, row < rows.count, column >= 0, column < columnCount else { return nil }
        let start = UnsafeRawPointer(rows[row])
        let places = start.assumingMemoryBound(to: UInt32.self)
        let place = places[column]
        guard place & Self.nullMark == 0 else { return nil }
        let end = places[column + 1] & ~Self.nullMark
        return UnsafeRawBufferPointer(start: start + Int(place), count: Int(end - place))
    }

    // MARK: -

    private func rowSize(_ result: OpaquePointer, without missing: Range<Int>) -> Int {
        var size = (columnCount + 1) * 4
        for column in 0..<columnCount where !missing.contains(column) {
            size += Int(PQgetlength(result, 0, Int32(truncatingIfNeeded: column)))
        }
        return size
    }

    /// Counts a row; false when it is one too many.
    private func take(_ size: Int) -> Bool {
        let needed = held + size - Self.allowance - taken
        if needed > 0 {
            var step = max(needed, Self.step)
            var refusal = limit.budget.takeForRows(step)
            if refusal != nil, step > needed {
                step = needed
                refusal = limit.budget.takeForRows(step)
            }
            if let refusal {
                if case .fails = limit.excess { failure = refusal }
                return false
            }
            taken += step
        }
        held += size
        return true
    }

    private func copy(_ result: OpaquePointer, without missing: Range<Int>, size: Int) {
        let row = room(size)
        let places = row.bindMemory(to: UInt32.self, capacity: columnCount + 1)
        var end = (columnCount + 1) * 4
        for column in 0..<columnCount {
            let place = UInt32(truncatingIfNeeded: end)
            let index = Int32(truncatingIfNeeded: column)
            guard !missing.contains(column), PQgetisnull(result, 0, index) == 0,
                let value = PQgetvalue(result, 0, index)
            else {
                places[column] = place | Self.nullMark
                continue
            }
            let length = Int(PQgetlength(result, 0, index))
            places[column] = place
            (row + end).copyMemory(from: value, byteCount: length)
            end += length
        }
        places[columnCount] = UInt32(truncatingIfNeeded: end)
        rows.append(row)
    }

    /// Memory for a row; what is long has a block of its own.
    private func room(_ size: Int) -> UnsafeMutableRawPointer {
        let size = (size + 7) & ~7
        if size > Self.blockSizes.upperBound / 4 {
            let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
            blocks.append(block)
            return block
        }
        let row: UnsafeMutableRawPointer
        if let free, freeBytes >= size {
            row = free
        } else {
            freeBytes = max(size, nextBlock)
            nextBlock = min(nextBlock * 2, Self.blockSizes.upperBound)
            row = .allocate(byteCount: freeBytes, alignment: 8)
            blocks.append(row)
        }
        free = row + size
        freeBytes -= size
        return row
    }

    private func dropRows() {
        for block in blocks { block.deallocate() }
        blocks = []
        rows = []
        free = nil
        freeBytes = 0
        held = 0
        if taken > 0 { limit.budget.giveBackForRows(taken) }
        taken = 0
    }
}
