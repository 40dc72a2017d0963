import SkyrowJSON

extension TextCast {
    /// Why a field does not take a text that is not a value of its type: a clause that follows the field's name.
    var misfit: String {
        switch self {
        case .integer: "holds 64-bit integers, and this text is not one"
        case .number: "holds numbers, and this text is not one"
        case .boolean: "holds true or false, and this text is neither"
        case .datetime: "holds instants (RFC 3339, to the microsecond), and this text is not one"
        case .bytes: "holds bytes, and this text is not base64 (RFC 4648, padded)"
        case .reference(let target): "refers to records of the type \(target), and this text is not an id"
        case .never: "does not accept texts"
        }
    }
}
