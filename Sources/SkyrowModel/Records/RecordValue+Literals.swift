// Values as literals, so that a draft reads `["title": "Milk", "stars": 3, "tags": ["shop"], "done": false]`.

extension RecordValue: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) {
        self = .string(text)
    }
}

extension RecordValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }
}

extension RecordValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) {
        self = .number(value)
    }
}

extension RecordValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: RecordValue...) {
        self = .array(elements)
    }
}

extension RecordValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }
}
