/// The version of this package, in responses, archives and metrics.
package enum SkyrowVersion {
    package static let text = "0.1.0"
}
