package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `schema:index:create`: a process of the service builds the index afterwards.
    package func createIndex(_ request: IndexCreateRequest) async throws(SkyrowError) -> RecordIndex {
        try await observed(.schemaIndexCreate) { () async throws(SkyrowError) in
            try await store.createIndex(request)
        }
    }

    /// `schema:index:delete`: the index is dropped afterwards.
    package func deleteIndex(_ request: IndexDeleteRequest) async throws(SkyrowError) -> RecordIndex {
        try await observed(.schemaIndexDelete) { () async throws(SkyrowError) in
            try await store.deleteIndex(request)
        }
    }

    /// `schema:index:list`
    package func indexes(_ request: IndexListRequest) async throws(SkyrowError) -> [RecordIndex] {
        try await observed(.schemaIndexList) { () async throws(SkyrowError) in
            try await store.indexes(request)
        }
    }
}
