package import SkyrowModel

/// Why an operator cannot be applied to a stored value.
package enum OperatorRefusal: Error, Hashable, Sendable {
    /// The value does not have the required type, which is named.
    case type(String)
    /// There is no element at this index.
    case noElement(Int64)
    /// The result is out of the field's range.
    case range
    /// The result is longer than 1 MB.
    case length
    /// The result has more than 10,000 elements.
    case count
    /// Other records of the request have used up the budget for evaluating elements.
    case budget

    /// Returns the client's error for a field, and for one of the operators of `all`.
    package func error(on field: FieldName, step: Int? = nil) -> SkyrowError {
        let error =
            switch self {
            case .type(let expected):
                SkyrowError.invalidArgument("The operator requires a stored value of the type \(expected).")
            case .noElement(let index):
                SkyrowError.invalidArgument("The stored array has no element \(index).")
            case .range:
                SkyrowError.invalidArgument("The result of the operator is out of range for the field.")
            case .length:
                SkyrowError(
                    .payloadTooLarge,
                    "The result of the operator is larger than \(FieldOperator.Limits.bytes) bytes."
                )
            case .budget:
                SkyrowError.invalidArgument(
                    "The \"$where\" predicates of this request are too expensive for the long stored arrays; "
                        + "send fewer such records per request."
                ).at(".$where")
            case .count:
                SkyrowError(
                    .payloadTooLarge,
                    "The result of the operator has more than \(FieldOperator.Limits.elements) elements."
                )
            }
        return (step.map { error.at($0).at(".$val") } ?? error).inOperator(on: field.rawValue)
    }
}
