/// When a timer is due: six fields with seconds, five without, a name such as `@daily`, or `@every 90s`.
package struct CronSpec: Hashable, Sendable {
    /// The text as it was written.
    package let text: String

    /// Throws what is wrong with it.
    package init(_ text: String) throws(RegistrationFault) {
        self.text = text
    }
}
