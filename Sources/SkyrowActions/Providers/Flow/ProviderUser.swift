import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowRemote

/// A provider's description of the user of an access token.
struct ProviderUser: Hashable, Sendable {
    var subject: String
    var profile: JSONText
    var verifiedEmail: String?

    /// Reads the response of an OAuth 2 provider without ID tokens.
    ///
    /// Throws ``FlowFault`` for a response without an id.
    ///
    /// - Parameter emails: the mail addresses of the user, if the provider has a separate endpoint for them.
    init(_ user: JSONDocument, emails: JSONDocument?, of kind: ProviderKind) throws(FlowFault) {
        let read = user.withRoot { root -> (subject: String, members: [(StaticString, String?)])? in
            let json = kind == .twitter ? root["data"] ?? root : root
            guard let subject = Self.subject(json) else { return nil }
            func text(_ name: StaticString) -> String? { json[name]?.string }
            switch kind {
            case .github:
                return (
                    subject,
                    [("name", text("name")), ("preferred_username", text("login")), ("picture", text("avatar_url"))]
                )
            case .twitter:
                return (
                    subject,
                    [
                        ("name", text("name")), ("preferred_username", text("username")),
                        ("picture", text("profile_image_url")),
                    ]
                )
            case .facebook:
                return (
                    subject,
                    [
                        ("name", text("name")), ("given_name", text("first_name")), ("family_name", text("last_name")),
                        // Facebook does not tell whether it is verified.
                        ("email", text("email")), ("picture", json["picture"]?["data"]?["url"]?.string),
                    ]
                )
            case .openID, .google, .apple:
                return nil
            }
        }
        guard let read else { throw FlowFault(.serverError, "the user info has no valid user") }
        subject = read.subject
        verifiedEmail = emails.flatMap { $0.withRoot(Self.primaryEmail) }
        let writer = JSONWriter()
        writer.beginObject()
        for (name, text) in read.members {
            guard let text, (1...1000).contains(text.utf8.count), !text.hasNUL else { continue }
            writer.key(name)
            writer.string(text)
        }
        if let verifiedEmail {
            writer.member("email", verifiedEmail)
            writer.member("email_verified", true)
        }
        writer.endObject()
        profile = JSONText(validated: writer.bytes)
    }

    /// Returns the id of a user. GitHub's is a number, which is never reassigned, unlike the login name.
    private static func subject(_ json: JSONView) -> String? {
        guard let id = json["id"] else { return nil }
        if let text = id.string { return text.isName ? text : nil }
        return id.wholeNumber.map { "\($0)" }
    }

    /// Returns the primary verified address of GitHub's list; other ones may belong to people who don't use the account.
    private static func primaryEmail(_ json: JSONView) -> String? {
        guard json.isArray, json.count <= 100 else { return nil }
        for element in json.elements where element["primary"]?.boolean == true && element["verified"]?.boolean == true {
            return element["email"]?.string.flatMap(VerifiedAddress.read)
        }
        return nil
    }

    /// Facebook's proof that a request comes from the client to which the token was issued.
    static func proof(of accessToken: String, secret: String) -> String {
        Hexadecimal.text(HMACSHA256(key: Array(secret.utf8)).code(of: Array(accessToken.utf8)).bytes)
    }

    /// Adds the name from Apple's form, which is sent only at the first sign-in, to the profile of the ID token. The name is not
    /// verified.
    static func profile(_ profile: JSONText, withNameOf user: String?) -> JSONText {
        guard let user, let form = try? JSONDocument(Array(user.utf8), depthLimit: 8),
            let own = try? JSONDocument(profile.utf8)
        else { return profile }
        let names = form.withRoot { root in
            [root["name"]?["firstName"]?.string, root["name"]?["lastName"]?.string].map { name in
                name.flatMap { (1...255).contains($0.utf8.count) && !$0.hasNUL ? $0 : nil }
            }
        }
        guard names.contains(where: { $0 != nil }), own.withRoot({ $0["name"] == nil }) else { return profile }
        return own.withRoot { root in
            let writer = JSONWriter()
            writer.beginObject()
            for (name, value) in root.uniqueMembers where name != "given_name" && name != "family_name" {
                writer.key(name)
                writer.json(value.jsonText)
            }
            writer.member("name", names.compactMap { $0 }.joined(separator: " "))
            writer.endObject()
            return JSONText(validated: writer.bytes)
        }
    }
}

/// The mail address that a provider has verified.
enum VerifiedAddress {
    /// Returns the text if it is an address; nil otherwise.
    static func read(_ text: String) -> String? {
        MailAddress(text)?.description
    }

    /// Returns whether it is in one of the domains; an empty list admits all.
    static func isAdmitted(_ address: String?, by domains: [String]) -> Bool {
        guard !domains.isEmpty else { return true }
        guard let domain = address.flatMap({ MailAddress($0) })?.domain.lowercased() else { return false }
        return domains.contains(domain)
    }
}
