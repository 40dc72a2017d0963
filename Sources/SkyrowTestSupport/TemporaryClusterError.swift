/// Why a test has no PostgreSQL to run on; the test fails with it.
package struct TemporaryClusterError: Error, CustomStringConvertible {
    package let description: String
}
