/** Texts of a card. Cards of earlier versions may hold anything in their place. */
export interface CardTexts {
  /** Texts of its reason codes. */
  readonly codes: unknown
  readonly features: readonly {
    readonly name: string
    readonly label: unknown
    /** Its reason code. */
    readonly code: unknown
  }[]
}

const LANGUAGE = 'en'

/**
 * Names features for people who read English: by their label, else by the text of a reason that is
 * theirs alone. A feature without either is left out.
 *
 * @param wanted names of features
 */
export function labelFeatures(
  { codes, features }: CardTexts,
  wanted: ReadonlySet<string>,
): Record<string, string> {
  const found = features.flatMap(({ name, label, code }) => {
    if (!wanted.has(name)) return []
    const isOwn =
      typeof code === 'string' && features.filter((other) => other.code === code).length === 1
    const text = readText(label) ?? (isOwn ? readText(readProperty(codes, code)) : null)
    return text === null ? [] : [[name, text] as const]
  })
  return Object.fromEntries(found)
}

function readText(texts: unknown): string | null {
  const text = readProperty(texts, LANGUAGE)
  return typeof text === 'string' ? text : null
}

function readProperty(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}
