import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

/// Files that clients upload to the storage without the service, which looks for them when they are used.
extension ActionService {
    /// The form or the address by which the client uploads an announced file.
    func request(for file: StoredAsset, _ signer: FileSigner) throws(SkyrowError) -> AnnouncedFile.Request {
        let configuration = try requiredFiles.configuration
        guard let direct = configuration.storage.directUploads else {
            return AnnouncedFile.Request(action: signer.uploadPath(of: file.name))
        }
        let form = direct.form(for: file, validFor: configuration.urlLifetime)
        return AnnouncedFile.Request(action: form.address, fields: form.fields)
    }

    /// Records those of some announced files whose bytes are in the storage.
    ///
    /// Throws `135 Overloaded` for a fault of the storage.
    func confirmDirectUploads(of names: some Collection<AssetName>) async throws(SkyrowError) {
        guard !names.isEmpty, files?.configuration.storage.directUploads != nil else { return }
        for file in try await store.assets.expected(among: Array(names)) { _ = try await confirmed(file) }
    }

    /// Returns the row of a stored file; nil for a file that is expected and whose bytes are not in the storage.
    func confirmed(_ file: StoredAsset?) async throws(SkyrowError) -> StoredAsset? {
        guard let file, file.state == .expected else { return file }
        let storage = try requiredFiles.configuration.storage
        guard storage.directUploads != nil else { return nil }
        let found = try await storing { () async throws(FileFault) -> [UInt8]? in
            guard let opened = try await storage.open(file.name), opened.size == file.size,
                case .remote(let remote) = opened.source
            else { return nil }
            return try await remote.first(SniffedType.examinedBytes, of: opened.size)
        }
        guard let found, var stored = confirmed(file, found) else { return nil }
        do throws(SkyrowError) {
            _ = try await store.assets.markStored(stored, sha256: nil, storage: storage.kind)
        } catch  where error.code == .resourceNotFound {
            // It has expired meanwhile.
            return nil
        }
        stored.state = .stored
        stored.storedAt = clock.now()
        return stored
    }

    /// Returns the file as its row will have it; nil if its type or its size is not accepted, and then it is deleted like one that
    /// has not arrived.
    private func confirmed(_ file: StoredAsset, _ first: [UInt8]) -> StoredAsset? {
        do throws(SkyrowError) {
            var file = file
            file.sniffed = SniffedType.of(first)
            let plan = try uploadPlan(file.filename, file.contentType, size: file.size)
            file.contentType = try plan.contentType(sniffed: file.sniffed).rawValue
            return file
        } catch {
            return nil
        }
    }
}

extension RemoteFile {
    /// Returns the first bytes.
    ///
    /// - Parameters:
    ///   - count: an upper bound.
    ///   - size: the bytes of the file.
    fileprivate func first(_ count: Int, of size: Int64) async throws(FileFault) -> [UInt8] {
        let bytes = Mutex<[UInt8]>([])
        do {
            try await read(0..<min(Int64(count), size)) { part in bytes.withLock { $0 += part } }
        } catch let fault as FileFault {
            throw fault
        } catch {
            throw .unavailable("A file could not be read: \(error)")
        }
        return bytes.withLock { $0 }
    }
}
