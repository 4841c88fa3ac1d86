import type { Texts } from './reason-spec.ts'

/**
 * The text for a reader: that of the language tag, then of ever shorter tags, such as `zh-Hant` and
 * `zh` for `zh-Hant-TW`, then the English one, then the first there is. Case does not matter.
 *
 * @param lang a language tag
 * @returns null without a text
 * @source RFC 4647, 3.4, for the order of the tags
 */
export function textIn(texts: Texts | undefined, lang: string): string | null {
  if (texts === undefined) return null
  if (typeof texts === 'string') return texts
  const entries = Object.entries(texts)
  for (const tag of [...shorterTags(lang.toLowerCase()), DEFAULT_LANGUAGE]) {
    const found = entries.find(([name]) => name.toLowerCase() === tag)
    if (found !== undefined) return found[1]
  }
  return entries[0]?.[1] ?? null
}

/**
 * Tags with the same key have the same texts, whatever else they say.
 *
 * @param tags those of all texts, in lower case
 */
export function languageKey(lang: string, tags: ReadonlySet<string>): string {
  const wanted = new Set([...shorterTags(lang.toLowerCase()), DEFAULT_LANGUAGE])
  return [...wanted].filter((tag) => tags.has(tag)).join()
}

/** The tags of a text, in lower case; none for a text without languages. */
export function listTags(texts: Texts | undefined): string[] {
  if (texts === undefined || typeof texts === 'string') return []
  return Object.keys(texts).map((tag) => tag.toLowerCase())
}

/** Characters of a text in all its languages. */
export function countChars(texts: Texts | undefined): number {
  if (texts === undefined) return 0
  if (typeof texts === 'string') return texts.length
  return Object.values(texts).reduce((sum, text) => sum + text.length, 0)
}

export const DEFAULT_LANGUAGE = 'en'

/** The tag itself first. */
function shorterTags(lang: string): string[] {
  const parts = lang.split('-')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
}
