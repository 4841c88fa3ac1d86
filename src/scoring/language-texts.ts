import { countChars, languageKey, listTags, type ReasonSpec } from '../engine/index.ts'
import type { BytesLeft } from '../platform/bytes/lazy-fragments.ts'
import type { ReasonFragments } from './reason-fragments.ts'

/** Texts of a language as JSON, each made when it is first needed. */
export interface LanguageTexts {
  readonly lang: string
  /** Code and text of each code. */
  readonly codes: (string | undefined)[]
  /** The label of each slot's bin. */
  readonly bins: (string | undefined)[]
  /** All that a reason says after its rank, for a slot that alone makes the reason. */
  readonly reasons: (string | undefined)[]
  /** The same as UTF-8, for batches; null before the first batch. */
  prepared: ReasonFragments | null
  /** For whole reasons, which repeat the texts of codes and labels. */
  readonly left: BytesLeft
}

/** A card with more languages makes the texts of the one that was asked for least lately anew. */
const LANGUAGES_HELD_MAX = 8
/** Bytes of whole reasons that a model holds in a language. */
const COMPOSED_BYTES_MIN = 64 * 1024
const COMPOSED_BYTES_MAX = 1024 * 1024
/** A usual reason takes so many times the bytes of its slot in the tables. */
const TABLE_WEIGHT = 4
const CHAR_BYTES = 2

/**
 * The texts of a model's reasons in the languages that callers ask for.
 *
 * Callers choose the tags, so a tag alone holds nothing: tags with the same texts share them, and a
 * card has no more languages than its texts have.
 */
export class HeldLanguages {
  /** Bytes that all of it may take. */
  readonly heldBytesMax: number
  private readonly tags: ReadonlySet<string>
  private readonly held = new Map<string, LanguageTexts>()
  private readonly composedBytes: number
  /** Most callers have one tag. */
  private latestTag: string | null = null
  private latest: LanguageTexts | null = null

  /** @param sizeBytes of the model */
  constructor({ reason_codes: codes = {}, features }: ReasonSpec, sizeBytes: number) {
    const tags = new Set<string>()
    let chars = 0
    const all = [
      ...Object.values(codes),
      ...features.flatMap(({ bins }) => bins.map(({ label }) => label)),
    ]
    for (const texts of all) {
      chars += countChars(texts)
      for (const tag of listTags(texts)) tags.add(tag)
    }
    this.tags = tags
    const wanted = TABLE_WEIGHT * sizeBytes
    this.composedBytes = Math.min(COMPOSED_BYTES_MAX, Math.max(COMPOSED_BYTES_MIN, wanted))
    const languages = Math.min(LANGUAGES_HELD_MAX, tags.size + 1)
    this.heldBytesMax = languages * (this.composedBytes + CHAR_BYTES * chars)
  }

  of(lang: string): LanguageTexts {
    if (this.latest !== null && this.latestTag === lang) return this.latest
    const key = languageKey(lang, this.tags)
    const texts = this.held.get(key) ?? {
      lang,
      codes: [],
      bins: [],
      reasons: [],
      prepared: null,
      left: { bytes: this.composedBytes },
    }
    // The one that was asked for last stands at the end.
    this.held.delete(key)
    this.held.set(key, texts)
    const [oldest] = this.held.keys()
    if (this.held.size > LANGUAGES_HELD_MAX && oldest !== undefined) this.held.delete(oldest)
    this.latestTag = lang
    this.latest = texts
    return texts
  }
}
