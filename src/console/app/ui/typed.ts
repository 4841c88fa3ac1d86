import type { ChangeEvent } from 'react'

type Typed = ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>

/** Gives a field what it needs to show a text and to change it. */
export function typed(value: string, set: (text: string) => void) {
  return { value, onChange: ({ currentTarget }: Typed) => set(currentTarget.value) }
}
