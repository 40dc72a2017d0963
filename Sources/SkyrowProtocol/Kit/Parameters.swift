import SkyrowJSON
import SkyrowModel

/// The named parameters of an action, read one by one.
///
/// A member that is `null` counts as missing, as in Skygear. What has the wrong JSON type is `107 BadRequest`, what is
/// missing or not acceptable `108 InvalidArgument` with the names in `info.arguments`.
struct Parameters {
    let json: JSONView

    init(_ json: JSONView) {
        self.json = json
    }

    subscript(_ name: StaticString) -> JSONView? {
        guard let value = json[name], !value.isNull else { return nil }
        return value
    }

    func string(_ name: StaticString) throws(SkyrowError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw wrongType(name, "a string") }
        return text
    }

    func boolean(_ name: StaticString) throws(SkyrowError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let boolean = value.boolean else { throw wrongType(name, "true or false") }
        return boolean
    }

    /// A whole number within a range.
    func integer(_ name: StaticString, in range: ClosedRange<Int>) throws(SkyrowError) -> Int? {
        guard let value = self[name] else { return nil }
        guard value.number != nil else { throw wrongType(name, "a number") }
        guard let integer = value.wholeNumber.flatMap({ Int(exactly: $0) }), range.contains(integer) else {
            throw .invalidArgument(
                range.upperBound == .max
                    ? "\"\(name)\" must be a whole number from \(range.lowerBound)."
                    : "\"\(name)\" must be a whole number from \(range.lowerBound) to \(range.upperBound).",
                "\(name)"
            )
        }
        return integer
    }

    func array(_ name: StaticString) throws(SkyrowError) -> JSONView? {
        guard let value = self[name] else { return nil }
        guard value.isArray else { throw wrongType(name, "an array") }
        return value
    }

    func object(_ name: StaticString) throws(SkyrowError) -> JSONView? {
        guard let value = self[name] else { return nil }
        guard value.isObject else { throw wrongType(name, "an object") }
        return value
    }

    /// An array of strings that are neither empty nor too long for a name or id, nor hold NUL.
    func names(_ name: StaticString) throws(SkyrowError) -> [String]? {
        guard let array = try array(name) else { return nil }
        guard array.count <= WireLimits.batchCount else { throw tooMany(name, WireLimits.batchCount) }
        var names: [String] = []
        names.reserveCapacity(array.count)
        for element in array.elements {
            guard let text = element.string else { throw wrongType(name, "an array of strings") }
            guard text.isName else {
                throw .invalidArgument("\"\(name)\" must hold strings of 1 to 255 bytes without NUL.", "\(name)")
            }
            names.append(text)
        }
        return names
    }

    func userID(_ name: StaticString) throws(SkyrowError) -> UserID? {
        try self[name].map { json throws(SkyrowError) in try Codec<UserID>.userID.read(json, "\(name)") }
    }

    func required<Value>(_ name: StaticString, _ value: Value?) throws(SkyrowError) -> Value {
        guard let value else { throw .invalidArgument("\"\(name)\" is missing.", "\(name)") }
        return value
    }

    func database() throws(SkyrowError) -> DatabaseName {
        try DatabaseName(string("database_id"))
    }

    func recordType() throws(SkyrowError) -> RecordTypeName {
        try RecordTypeName(required("record_type", string("record_type")))
    }

    func wrongType(_ name: StaticString, _ expected: String) -> SkyrowError {
        .wrongType("\(name)", expected)
    }

    func tooMany(_ name: StaticString, _ limit: Int) -> SkyrowError {
        .tooMany("\(name)", limit)
    }
}
