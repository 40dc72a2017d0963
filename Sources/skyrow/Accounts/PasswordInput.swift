import Glibc
import SkyrowActions
import SkyrowSystem

/// The source of a new account's password.
enum PasswordInput {
    /// Reads the first line of standard input; a terminal's user types it twice, without echo.
    ///
    /// Throws ``ToolError`` if there is no password, or the two differ.
    static func read() throws(ToolError) -> String {
        guard let password = line("Password: "), !password.isEmpty else {
            throw .usage("Standard input contains no password.")
        }
        guard isatty(STDIN_FILENO) != 1 || line("Repeat the password: ") == password else {
            throw .usage("The two passwords differ.")
        }
        return password
    }

    private static func line(_ prompt: String) -> String? {
        var saved = termios()
        guard tcgetattr(STDIN_FILENO, &saved) == 0 else { return readLine(strippingNewline: true) }
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved)
            complain("")
        }
        let prompt = Array(prompt.utf8)
        _ = write(STDERR_FILENO, prompt, prompt.count)
        return readLine(strippingNewline: true)
    }

    /// Returns twenty letters and digits in groups of five, some 115 random bits, without ambiguous characters.
    ///
    /// - Parameter policy: The password policy, which may require a longer password.
    static func random(for policy: PasswordPolicy = PasswordPolicy()) -> String {
        var generator = SystemRandomNumberGenerator()
        func drawn() -> String {
            var password = random(using: &generator)
            while password.unicodeScalars.count < policy.minimumLength { password += "-" + random(using: &generator) }
            return password
        }
        var password = drawn()
        // One password in seventeen has no digit.
        for _ in 0..<1000 where policy.violation(in: password) != nil { password = drawn() }
        return password
    }

    static func random(using generator: inout some RandomNumberGenerator) -> String {
        let alphabet = Array("abcdefghjkmnpqrstuvwxyz23456789ABCDEFGHJKMNPQRSTUVWXYZ")
        let groups = (0..<4).map { _ in
            String((0..<5).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] })
        }
        return groups.joined(separator: "-")
    }
}
