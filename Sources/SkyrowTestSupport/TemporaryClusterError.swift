/// The error of a test that has no usable PostgreSQL.
package struct TemporaryClusterError: Error, CustomStringConvertible {
    package let description: String
}
