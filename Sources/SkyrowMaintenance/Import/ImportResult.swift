import SkyrowModel

/// The result of an import.
package struct ImportResult: Sendable {
    package let path: String
    package let plan: ImportPlan
    /// The number of imported records; nil for a dry run.
    package var imported: Int?
    /// Records that could not be imported.
    package var leftOut: Int
    package var elapsed = Duration.zero
}
