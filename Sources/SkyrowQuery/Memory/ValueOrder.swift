internal import SkyrowModel

/// The order of two values of a type: PostgreSQL's order, with texts in byte order.
enum ValueOrder {
    case less, same, greater

    init<Value: Comparable>(_ a: Value, _ b: Value) {
        self = a < b ? .less : b < a ? .greater : .same
    }

    /// Compares texts by the bytes of their UTF-8, which is the order of code points.
    init(texts a: String, _ b: String) {
        self = ValueOrder(bytes: a.utf8, b.utf8)
    }

    init(bytes a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) {
        var left = a.makeIterator()
        var right = b.makeIterator()
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): self = .same
            case (nil, _?): self = .less
            case (_?, nil): self = .greater
            case (let x?, let y?):
                if x == y { continue }
                self = x < y ? .less : .greater
            }
            return
        }
    }

    /// NaN equals itself and is greater than every number; -0 equals 0.
    init(numbers a: Double, _ b: Double) {
        switch (a.isNaN, b.isNaN) {
        case (true, true): self = .same
        case (true, false): self = .greater
        case (false, true): self = .less
        case (false, false): self = ValueOrder(a, b)
        }
    }

    /// Compares an integer with a double without rounding.
    init(_ integer: Int64, beside number: Double) {
        // NaN is greater than every number.
        guard number < 0x1p63 else {
            self = .less
            return
        }
        guard number >= -0x1p63 else {
            self = .greater
            return
        }
        let whole = number.rounded(.down)
        let order = ValueOrder(integer, Int64(whole))
        self = order == .same && number > whole ? .less : order
    }

    var turned: ValueOrder {
        switch self {
        case .less: .greater
        case .same: .same
        case .greater: .less
        }
    }

    func satisfies(_ relation: Relation) -> Bool {
        switch relation {
        case .equal: self == .same
        case .unequal: self != .same
        case .less: self == .less
        case .lessOrEqual: self != .greater
        case .greater: self == .greater
        case .greaterOrEqual: self != .less
        }
    }
}
