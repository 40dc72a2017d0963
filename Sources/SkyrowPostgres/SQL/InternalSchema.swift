/// The schema of an application's reserved tables, `app_internal` beside `app`.
///
/// ```swift
/// let statement: SQL = "SELECT id FROM \(schema.internal)._user"   // SELECT id FROM "app_internal"._user
/// ```
///
/// Statements are built from it without an intermediate identifier, since most requests need such statements.
package struct InternalSchema: Hashable, Sendable {
    package let application: SQLIdentifier

    /// The unquoted name, as in the catalog.
    package var name: String { identifier.name }

    /// The name between double quotes.
    package var quoted: String { identifier.quoted }

    /// The name with quotes only where it needs them.
    package var plain: String {
        let name = name
        let isPlain = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isPlain ? name : quoted
    }

    package var identifier: SQLIdentifier { SQLIdentifier(internal: application) }

    /// Whether the name is that of the application plus the suffix, without truncation.
    fileprivate var isWhole: Bool {
        application.name.utf8.count <= SQLIdentifier.maximumLength - SQLIdentifier.internalSuffix.utf8CodeUnitCount
    }
}

extension SQLIdentifier {
    fileprivate static let internalSuffix: StaticString = "_internal"
    /// The number of hexadecimal digits of a hash.
    private static let hashLength = 16

    /// The schema of the reserved tables of the application in this schema.
    package var `internal`: InternalSchema { InternalSchema(application: self) }

    /// Whether this may be the name of an application's internal or visible schema, such as `app_internal` or `app_visible`, so
    /// that no application may use it.
    package var isBesideAnother: Bool {
        if name.hasSuffix("\(Self.internalSuffix)") || name.hasSuffix("_visible") { return true }
        let end = name.utf8.suffix(Self.hashLength)
        return end.count == Self.hashLength && end.allSatisfy { Self.digits.contains($0) }
            && name.utf8.dropLast(Self.hashLength).suffix(Self.internalSuffix.utf8CodeUnitCount + 1)
                .elementsEqual("\(Self.internalSuffix)_".utf8)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns the name of the internal schema of `application`: its name followed by `_internal`.
    ///
    /// A name that would be too long is truncated and made unique by a hash of the whole name: `…_internal_0f5c9d3e8b7a6142`. A
    /// name that ends with `_internal` has the application's whole name before it, since no hash ends that way.
    static func internalName(of application: String) -> String {
        let suffix = "\(internalSuffix)"
        guard application.utf8.count + suffix.utf8.count > maximumLength else { return application + suffix }
        let room = maximumLength - suffix.utf8.count - 1 - hashLength
        var beginning = ""
        for character in application.unicodeScalars {
            guard beginning.utf8.count + UTF8.width(character) <= room else { break }
            beginning.unicodeScalars.append(character)
        }
        return "\(beginning)\(suffix)_\(hash(of: application))"
    }

    /// The 64-bit FNV-1a hash in hexadecimal digits.
    private static func hash(of text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: hashLength - digits.utf8.count) + digits
    }
}

extension SQL {
    package mutating func append(_ schema: InternalSchema) {
        if schema.isWhole {
            append(schema.application, suffix: SQLIdentifier.internalSuffix)
        } else {
            append(schema.identifier)
        }
    }
}
