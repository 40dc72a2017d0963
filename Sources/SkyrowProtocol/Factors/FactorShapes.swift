package import SkyrowModel

extension Codec<TOTPEnrolment> {
    package static let totpEnrolment = object(
        Form(
            TOTPEnrolment.init(secret:uri:),
            Member("secret", \.secret, .string, "The secret in Base32."),
            Member("uri", \.uri, .string, "The same secret as an address for a QR code.")
        )
    )
}

extension Codec<AccountFactor> {
    package static let accountFactor = object(
        Form(
            { AccountFactor($0, confirmedAt: $1, lastUsedAt: $2, left: $3) },
            Member("kind", \.kind, .oneOf),
            Member("confirmed_at", \.confirmedAt, .instant),
            Member(ifAny: "last_used_at", \.lastUsedAt, .instant),
            Member(ifAny: "left", \.left, .integer(0...Int.max), "How many recovery codes are left.")
        )
    )
}
