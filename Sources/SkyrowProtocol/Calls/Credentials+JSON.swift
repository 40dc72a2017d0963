package import SkyrowJSON
package import SkyrowModel

extension Credentials {
    /// Reads `api_key`, `access_token` and `_user_id` from the parameters; headers come before these.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            key: try parameters.string("api_key"),
            accessToken: try parameters.string("access_token"),
            actingUserID: try parameters.userID("_user_id")
        )
    }
}
