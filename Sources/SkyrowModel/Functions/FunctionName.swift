/// The name of a function of the application: `[A-Za-z][A-Za-z0-9_.:/-]{0,127}`, such as `hello` or `game:score/best`.
public struct FunctionName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: String

    /// Upper bound on its bytes.
    package static let maximumLength = 128

    /// Throws `108 InvalidArgument` when the text is not a name.
    public init(_ text: String) throws(SkyrowError) {
        guard FunctionName.isName(text) else {
            throw .invalidArgument(
                "A function name must be a letter followed by at most 127 letters, digits or characters of \"_.:/-\".",
                "name"
            )
        }
        rawValue = text
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= maximumLength, first.isLetter else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "_.:/-".utf8.contains($0) }
    }

    public static func < (a: FunctionName, b: FunctionName) -> Bool {
        a.rawValue < b.rawValue
    }

    public var description: String { rawValue }
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
