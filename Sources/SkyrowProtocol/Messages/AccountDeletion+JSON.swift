package import SkyrowJSON
package import SkyrowModel

extension DeleteUserRequest {
    /// Reads `user:delete`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            userID: try parameters.required("user_id", parameters.userID("user_id")),
            releases: try parameters.boolean("release") ?? false
        )
    }
}

extension JSONWriter {
    /// The result of `auth:delete` and `user:delete`.
    package func deletion(_ report: DeletionReport) {
        beginObject()
        key("finished")
        boolean(report.isFinished)
        key("deleted")
        integer(Int64(report.deleted))
        key("anonymised")
        integer(Int64(report.anonymised))
        key("transferred")
        integer(Int64(report.transferred))
        key("kept")
        integer(Int64(report.kept))
        endObject()
    }

    // MARK: The client's side

    /// The parameters of `user:delete`.
    package func deleteUserParameters(_ request: DeleteUserRequest) {
        beginObject()
        key("user_id")
        string(request.userID.rawValue)
        if request.releases {
            key("release")
            boolean(true)
        }
        endObject()
    }
}
