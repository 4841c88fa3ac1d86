import type { SpecIssue } from '../engine/index.ts'

/** A card in another language, or why that language can't say what the card does. */
export type Written =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly faults: readonly SpecIssue[] }
