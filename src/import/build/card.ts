import type { IMPORT_TOOLS, ODDS_DIRECTIONS, UNSEEN_POLICIES } from '../../schemas/import.ts'
import type { Range } from './ranges.ts'

/** The tools whose files are read. */
export type Tool = (typeof IMPORT_TOOLS)[number]

/** What a category that no bin names adds, where the file does not say it. */
export type Unseen = (typeof UNSEEN_POLICIES)[number]

export type OddsDirection = (typeof ODDS_DIRECTIONS)[number]

/** What the caller knows and the file does not say. */
export interface ImportOptions {
  readonly tool?: Tool
  readonly name: string
  readonly version: string
  readonly target: string
  readonly scaling: {
    /** Points that double the odds, as the tool was given it. */
    readonly pdo?: number
    readonly baseScore?: number
    /** A number, or a fraction such as `1/19`, which is not rounded. */
    readonly odds?: string
    readonly oddsDirection?: OddsDirection
    /** What the odds are multiplied with at `pdo` points, where it is not 2. */
    readonly rate?: number
  }
  /** Where the file has no row for them. */
  readonly basePoints?: number
  /** Kept apart from the table by optbinning. */
  readonly intercept?: number
  readonly unseen?: Unseen
  /** Features whose bins are texts, though they look like intervals. */
  readonly categorical?: readonly string[]
  /** Other names for features of the file: smbinning calls them as it calls their bins. */
  readonly rename?: Readonly<Record<string, string>>
  /** Categories that have a comma in their names, where the file joins categories by commas. */
  readonly commaCategories?: readonly string[]
  /** The card has no special values, where its file can't tell. */
  readonly hasNoSpecials?: boolean
  /** Exact splits of optbinning, by feature; any JSON. */
  readonly splits?: unknown
}

/** What a bin holds. */
export type Member =
  | { readonly kind: 'range'; readonly range: Range }
  /** A single number, which goes before the ranges. */
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'category'; readonly text: string }
  | { readonly kind: 'missing' }
  /** Whatever no other bin holds. */
  | { readonly kind: 'else' }

/** One row of a card. */
export interface SourceBin {
  /** Where it stands in the file. */
  readonly path: string
  /** As the tool wrote it. */
  readonly label: string
  readonly points: number
  readonly woe?: number | undefined
  readonly members: readonly Member[]
}

export interface SourceFeature {
  readonly name: string
  readonly type: 'numeric' | 'categorical'
  readonly bins: readonly SourceBin[]
}

/** A card as its file has it, before it becomes a specification. */
export interface SourceCard {
  readonly tool: Tool
  readonly basePoints: number
  readonly features: readonly SourceFeature[]
  readonly rules: ToolRules
}

/** How a tool applies what it wrote. */
export interface ToolRules {
  /** What it does with a category that no bin names, as a sentence. */
  readonly unseen: string
  /** What it does with a missing value where there is no bin for it, as a sentence. */
  readonly missing: string
  /** Whether `else` holds a missing value too. */
  readonly elseHoldsMissing?: boolean
  /** Whether ranges must follow each other without a gap. */
  readonly tiles?: boolean
  /** Whether categories are texts to the letter, so that 3.0 is not 3: they may be Python's numbers else. */
  readonly hasTextCategories?: boolean
}
