/// Decides when certificate files that change under a running server are read again.
struct CertificateReload {
    /// The state that was last read, whether it was usable or not.
    private var known: CertificateFiles.Stamp?
    private var seen: CertificateFiles.Stamp?

    init(known: CertificateFiles.Stamp?) {
        self.known = known
        seen = known
    }

    /// Whether to read the files: a new state must be seen twice in a row, since a
    /// renewal writes certificate and key one after the other.
    mutating func shouldRead(_ stamp: CertificateFiles.Stamp?) -> Bool {
        defer { seen = stamp }
        guard stamp != known, stamp == seen else { return false }
        known = stamp
        return true
    }
}
