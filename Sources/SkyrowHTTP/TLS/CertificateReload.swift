/// Decides when certificate files that change under a running server are read again.
struct CertificateReload {
    /// The state that was read last, whether or not it could be used.
    private var known: CertificateFiles.Stamp?
    private var seen: CertificateFiles.Stamp?

    init(known: CertificateFiles.Stamp?) {
        self.known = known
        seen = known
    }

    /// Whether to read the files, seen in a state twice in a row: certificate and key are two files, and a renewal
    /// writes one before the other.
    mutating func shouldRead(_ stamp: CertificateFiles.Stamp?) -> Bool {
        defer { seen = stamp }
        guard stamp != known, stamp == seen else { return false }
        known = stamp
        return true
    }
}
