import SkyrowModel

/// What came of an import.
package struct ImportResult: Sendable {
    package let path: String
    package let plan: ImportPlan
    /// nil when that was not asked for.
    package var imported: Int?
    /// Records that could not be imported.
    package var leftOut: Int
    package var elapsed = Duration.zero
}
