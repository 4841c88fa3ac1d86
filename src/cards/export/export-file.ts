import type { SpecIssue } from '../../engine/index.ts'

/** A card in another language, or everything in the card that the language can't express. */
export type WriteResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly faults: readonly SpecIssue[] }
