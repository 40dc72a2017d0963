/// Whether a field of some type can take a value.
package enum FieldAdmission: Hashable, Sendable {
    case fits
    /// It would fit if the field, which holds integers, held numbers.
    case fitsWidened
    case conflicts
}
