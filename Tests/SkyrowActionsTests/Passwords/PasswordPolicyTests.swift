import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

/// What a new password must be.
@Suite struct PasswordPolicyTests {
    private static let all = Set(PasswordClass.allCases)

    @Test(
        arguments: [
            ("correct horse", [], nil), ("short", [], "PasswordTooShort"), ("éééééééé", [], nil),
            ("correct horse", all, "PasswordUppercaseRequired"), ("CORRECT HORSE", all, "PasswordLowercaseRequired"),
            ("Correct horse", all, "PasswordDigitRequired"), ("Correct1Horse", all, "PasswordSymbolRequired"),
            ("Correct 1 horse", all, nil), ("Äußerst-٣", all, nil), ("short", all, "PasswordTooShort"),
            ("correct horse", [.symbol], nil), ("correcthorse", [.symbol], "PasswordSymbolRequired"),
            ("correct-½-horse", [.digit], "PasswordDigitRequired"), ("漢字漢字漢字漢字", [.symbol], "PasswordSymbolRequired"),
        ] as [(String, Set<PasswordClass>, String?)]
    )
    func aNewPasswordHasItsLengthAndItsClasses(_ password: String, _ classes: Set<PasswordClass>, _ reason: String?) {
        var reasonFound: ErrorInfo?
        do throws(SkyrowError) {
            _ = try AccountPolicy(passwords: PasswordPolicy(classes: classes)).accepted(password, argument: "password")
        } catch {
            #expect(error.code == .passwordPolicyViolated)
            reasonFound = error.info["reason"]
        }
        #expect(reasonFound == reason.map { .string($0) })
    }

    /// Passwords of before the rule go on.
    @Test func theRuleIsForNewPasswords() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann", password: "correct horse")
            let strict = fixture.configured { $0.accounts.passwords.classes = [.digit] }
            let result = try await strict.logIn(LogInRequest(authData: ["username": "ann"], password: "correct horse"))
            let caller = try await strict.authenticate(.token(result.accessToken), for: .user)
            for (new, isAccepted) in [("battery staple", false), ("battery staple 2", true)] {
                let request = ChangePasswordRequest(oldPassword: "correct horse", password: new)
                if isAccepted {
                    _ = try await strict.changePassword(request, by: caller)
                } else {
                    let error = try await expectError(.passwordPolicyViolated) {
                        try await strict.changePassword(request, by: caller)
                    }
                    #expect(error?.info["reason"] == .string("PasswordDigitRequired"))
                }
            }
            try await expectError(.passwordPolicyViolated) {
                try await strict.signUp(SignUpRequest(authData: ["username": "bob"], password: "correct horse"))
            }
        }
    }
}
