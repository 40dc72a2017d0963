/// The schema of the reserved tables of an application, `app_internal` beside `app`.
///
/// ```swift
/// let statement: SQL = "SELECT id FROM \(schema.internal)._user"   // SELECT id FROM "app_internal"._user
/// ```
///
/// A statement has the name without making an identifier first, since most requests come with such statements.
package struct InternalSchema: Hashable, Sendable {
    /// The schema of the application.
    package let application: SQLIdentifier

    /// The name as the catalog holds it.
    package var name: String { identifier.name }

    /// The name between double quotes.
    package var quoted: String { identifier.quoted }

    /// The name as people write it: between quotes where it needs them.
    package var plain: String {
        let name = name
        let isPlain = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isPlain ? name : quoted
    }

    package var identifier: SQLIdentifier {
        SQLIdentifier(internal: application)
    }

    /// Whether the name is that of the application with something behind it, and nothing is cut off.
    fileprivate var isWhole: Bool {
        application.name.utf8.count <= SQLIdentifier.maximumLength - SQLIdentifier.internalSuffix.utf8CodeUnitCount
    }
}

extension SQLIdentifier {
    fileprivate static let internalSuffix: StaticString = "_internal"
    /// How many digits a hash has.
    private static let hashLength = 16

    /// The schema of the reserved tables of the application whose schema this is.
    package var `internal`: InternalSchema { InternalSchema(application: self) }

    /// Whether a schema of this name may be one that an application has beside its own, `app_internal` or `app_visible`, so that no
    /// application may be in it.
    package var isBesideAnother: Bool {
        if name.hasSuffix("\(Self.internalSuffix)") || name.hasSuffix("_visible") { return true }
        let end = name.utf8.suffix(Self.hashLength)
        return end.count == Self.hashLength && end.allSatisfy { Self.digits.contains($0) }
            && name.utf8.dropLast(Self.hashLength).suffix(Self.internalSuffix.utf8CodeUnitCount + 1)
                .elementsEqual("\(Self.internalSuffix)_".utf8)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// The name of the schema beside `application`: with `_internal` behind it.
    ///
    /// Where that has too many bytes, it is cut off and told apart by a hash of all of it: `…_internal_0f5c9d3e8b7a6142`. A name with
    /// `_internal` at its end is that of what is before it, and no hash ends so.
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

    /// FNV-1a of 64 bits, in hexadecimal digits.
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
