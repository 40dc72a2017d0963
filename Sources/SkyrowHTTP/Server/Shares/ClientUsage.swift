import SkyrowActions
import Synchronization

/// A reference to the current usage of one client, or one site; a connection or a body keeps it as long as it counts.
final class ClientUsage: Sendable {
    /// The counts that all references to one client share.
    final class Counts: Sendable {
        let connections = Atomic<Int>(0)
        /// Bytes of bodies in ``BodyMemory``, by pool.
        let acceptedBytes = Atomic<Int>(0)
        let unverifiedBytes = Atomic<Int>(0)
    }

    let counts: Counts
    /// The site of an IPv6 client, which has a separate share.
    let site: ClientUsage?
    private let place: ClientTable.Place
    private let table: ClientTable

    fileprivate init(_ counts: Counts, at place: ClientTable.Place, site: ClientUsage?, in table: ClientTable) {
        self.counts = counts
        self.place = place
        self.site = site
        self.table = table
    }

    deinit {
        table.release(place)
    }
}

/// The clients that use resources of a server, across all event loops.
final class ClientTable: Sendable {
    fileprivate struct Place: Hashable {
        let key: ClientKey
        let isSite: Bool
    }

    private struct Entry {
        let counts = ClientUsage.Counts()
        var holds = 0
    }

    private let entries = Mutex<[Place: Entry]>([:])

    /// The number of clients and sites with any usage.
    var count: Int { entries.withLock { $0.count } }

    /// Returns a reference to a client's usage; nil for a client without an address.
    func usage(of key: ClientKey) -> ClientUsage? {
        guard key != .none else { return nil }
        let site = key.site.map { hold(Place(key: $0, isSite: true), site: nil) }
        return hold(Place(key: key, isSite: false), site: site)
    }

    private func hold(_ place: Place, site: ClientUsage?) -> ClientUsage {
        let counts = entries.withLock { entries in
            entries[place, default: Entry()].holds += 1
            return entries[place, default: Entry()].counts
        }
        return ClientUsage(counts, at: place, site: site, in: self)
    }

    fileprivate func release(_ place: Place) {
        entries.withLock { entries in
            guard let entry = entries[place] else { return }
            if entry.holds > 1 {
                entries[place]?.holds -= 1
            } else {
                entries[place] = nil
            }
        }
    }
}
