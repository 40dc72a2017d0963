internal import CLibpq

/// Rows that were copied out of libpq one by one as they arrived, and counted (``RowCollector``).
///
/// A row consists of its offsets, four bytes for each column and four more, followed by its values. The offset of NULL is marked.
final class CollectedRows {
    private let rows: [UnsafeMutableRawPointer]
    private let blocks: [UnsafeMutableRawPointer]
    private let columnCount: Int
    private let budget: (any PostgresRowBudget)?
    private let taken: Int
    /// Why the rows were not kept.
    let failure: PostgresError.Code?
    /// The first row without some of its columns.
    let firstShortRow: Int
    /// The length of the longest row.
    let longestRow: Int

    fileprivate static let nullMark: UInt32 = 1 << 31

    /// Takes ownership of a collector's memory.
    fileprivate init(_ collector: RowCollector) {
        rows = collector.rows
        blocks = collector.blocks
        columnCount = collector.columnCount
        budget = collector.limit.budget
        taken = collector.taken
        failure = collector.failure
        firstShortRow = collector.firstShortRow
        longestRow = collector.longestRow
    }

    /// Copies existing rows, without a budget.
    init(rowCount: Int, columnCount: Int, _ value: (Int, Int) -> UnsafeRawBufferPointer?) {
        self.columnCount = columnCount
        budget = nil
        taken = 0
        failure = nil
        firstShortRow = .max
        var rows: [UnsafeMutableRawPointer] = []
        rows.reserveCapacity(rowCount)
        var longestRow = 0
        for row in 0..<rowCount {
            var size = (columnCount + 1) * 4
            for column in 0..<columnCount { size += value(row, column)?.count ?? 0 }
            longestRow = max(longestRow, size)
            let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
            let places = memory.bindMemory(to: UInt32.self, capacity: columnCount + 1)
            var end = (columnCount + 1) * 4
            for column in 0..<columnCount {
                let place = UInt32(truncatingIfNeeded: end)
                guard let bytes = value(row, column) else {
                    places[column] = place | Self.nullMark
                    continue
                }
                places[column] = place
                if let start = bytes.baseAddress, !bytes.isEmpty {
                    (memory + end).copyMemory(from: start, byteCount: bytes.count)
                }
                end += bytes.count
            }
            places[columnCount] = UInt32(truncatingIfNeeded: end)
            rows.append(memory)
        }
        self.rows = rows
        blocks = rows
        self.longestRow = longestRow
    }

    deinit {
        for block in blocks { block.deallocate() }
        if taken > 0 { budget?.giveBackForRows(taken) }
    }

    var count: Int { rows.count }

    /// The bytes of a value; nil for NULL and for an index out of range.
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
}

/// Copies the rows of a result out of libpq as they arrive, and counts them.
///
/// libpq buffers all rows of a result before it returns the first, unless in single-row mode. Copying single rows into blocks
/// bounds the memory, and makes locating a value a single addition.
///
/// ``complete()`` must be called, because only it passes the memory on.
struct RowCollector {
    fileprivate let limit: PostgresRowLimit
    fileprivate let columnCount: Int
    fileprivate var rows: [UnsafeMutableRawPointer] = []
    fileprivate var blocks: [UnsafeMutableRawPointer] = []
    fileprivate var taken = 0
    /// Why the rows are not kept.
    private(set) var failure: PostgresError.Code?
    fileprivate var firstShortRow = Int.max
    fileprivate var longestRow = 0
    /// The lengths of the current row's values; -1 for NULL and for columns that are left out.
    private var lengths: [Int32]
    private var free: UnsafeMutableRawPointer?
    private var freeBytes = 0
    private var nextBlock = RowCollector.blockSizes.lowerBound
    private var held = 0

    /// Up to this size, rows are not charged to the budget that all requests share.
    private static let allowance = 64 * 1024
    private static let step = 256 * 1024
    private static let blockSizes = 4 * 1024...64 * 1024

    init(limit: PostgresRowLimit, columnCount: Int) {
        self.limit = limit
        self.columnCount = columnCount
        lengths = Array(repeating: 0, count: columnCount)
    }

    /// Copies the row of a single-row result.
    mutating func append(_ result: OpaquePointer) {
        guard failure == nil else { return }
        var size = measure(result)
        longestRow = max(longestRow, size)
        if firstShortRow != .max || !take(size) {
            guard case .keepsColumns(let first, let last) = limit.excess else { return dropRows() }
            size = leaveOut(min(first, columnCount)..<max(min(first, columnCount), columnCount - last), of: size)
            firstShortRow = min(firstShortRow, rows.count)
        }
        copy(result, size: size)
    }

    /// Returns the rows; gives unused budget back.
    mutating func complete() -> CollectedRows {
        let needed = max(0, held - Self.allowance)
        if taken > needed {
            limit.budget.giveBackForRows(taken - needed)
            taken = needed
        }
        return CollectedRows(self)
    }

    // MARK: -

    /// Fills ``lengths`` and returns the size of the row.
    private mutating func measure(_ result: OpaquePointer) -> Int {
        var size = (columnCount + 1) * 4
        for column in 0..<columnCount {
            let index = Int32(truncatingIfNeeded: column)
            var length = PQgetlength(result, 0, index)
            // libpq returns length 0 for NULL too.
            if length == 0, PQgetisnull(result, 0, index) != 0 { length = -1 }
            lengths[column] = length
            size += Int(max(length, 0))
        }
        return size
    }

    private mutating func leaveOut(_ missing: Range<Int>, of size: Int) -> Int {
        var size = size
        for column in missing {
            size -= Int(max(lengths[column], 0))
            lengths[column] = -1
        }
        return size
    }

    /// Charges a row to the budget; returns false when it does not fit.
    private mutating func take(_ size: Int) -> Bool {
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

    private mutating func copy(_ result: OpaquePointer, size: Int) {
        let row = room(size)
        let places = row.bindMemory(to: UInt32.self, capacity: columnCount + 1)
        var end = (columnCount + 1) * 4
        for column in 0..<columnCount {
            let place = UInt32(truncatingIfNeeded: end)
            let length = Int(lengths[column])
            guard length >= 0 else {
                places[column] = place | CollectedRows.nullMark
                continue
            }
            places[column] = place
            guard length > 0, let value = PQgetvalue(result, 0, Int32(truncatingIfNeeded: column)) else { continue }
            (row + end).copyMemory(from: value, byteCount: length)
            end += length
        }
        places[columnCount] = UInt32(truncatingIfNeeded: end)
        rows.append(row)
    }

    /// Returns memory for a row; a long row gets its own block.
    private mutating func room(_ size: Int) -> UnsafeMutableRawPointer {
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

    private mutating func dropRows() {
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
