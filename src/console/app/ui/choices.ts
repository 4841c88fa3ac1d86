/** Choices of a select from their values and labels, in this order; a value is no whole number. */
export function listChoices<Value extends string>(labels: Readonly<Record<Value, string>>) {
  return Object.entries<string>(labels).map(([value, label]) => ({ value: value as Value, label }))
}
