import {
  binTextOf,
  type CompiledModel,
  DEFAULT_LANGUAGE,
  type FoundReasons,
  type Reason,
  type ReasonFinder,
  type ScorecardSpec,
  scoreRangeOf,
  textIn,
} from '../engine/index.ts'
import { type ReasonBaseline, reasonFinderOf, reasonMethodOf } from './reason-baseline.ts'

/** What a request says about the reasons it wants. */
export interface ReasonsWanted {
  /** Reasons at most; null: as many as the card says. */
  readonly max: number | null
  /** A language tag. */
  readonly lang: string
}

/**
 * Reads what a request says about reasons.
 *
 * @param include a number of reasons; true: as many as the card says; false or absent: none
 * @param lang a language tag; English by default
 */
export function reasonsWanted(
  include: boolean | number | undefined,
  lang: string | undefined,
): ReasonsWanted | null {
  if (include === undefined || include === false) return null
  return { max: include === true ? null : include, lang: lang ?? DEFAULT_LANGUAGE }
}

/** Texts of a language as JSON, each made when it is first needed. */
interface LanguageTexts {
  readonly lang: string
  /** Code and text of each code. */
  readonly codes: (string | undefined)[]
  /** The label of each slot's bin. */
  readonly bins: (string | undefined)[]
  /** All that a reason says after its rank, for a slot that alone makes the reason. */
  readonly reasons: (string | undefined)[]
}

/** Tags that callers name can't fill the memory: beyond these, texts are made anew. */
const LANGUAGES_HELD_MAX = 8

/**
 * Writes the reasons of a model's scores as JSON, from prepared pieces: everyone in a bin has the
 * same texts, and most reasons come from one bin.
 */
export class ReasonTexts {
  readonly finder: ReasonFinder
  private readonly spec: ScorecardSpec
  private readonly model: CompiledModel
  private readonly languages = new Map<string, LanguageTexts>()
  /** The texts that were asked for last: most callers have one language. */
  private latest: LanguageTexts | null = null
  /** Names of features and codes as JSON. */
  private readonly names: readonly string[]
  private readonly codes: readonly string[]
  /** Method and range of scores, with a comma before them. */
  readonly frameText: string

  private constructor(
    spec: ScorecardSpec,
    model: CompiledModel,
    finder: ReasonFinder,
    baseline: ReasonBaseline | null,
  ) {
    this.spec = spec
    this.model = model
    this.finder = finder
    this.names = model.featureNames.map((name) => JSON.stringify(name))
    this.codes = finder.rules.codes.map((code) => JSON.stringify(code))
    const method = JSON.stringify(reasonMethodOf(finder, baseline))
    const range = JSON.stringify(scoreRangeOf(model))
    this.frameText = `,"reason_method":${method},"score_range":${range}`
  }

  /** @returns null if the model has no rules, or needs a baseline and has none */
  static of(
    spec: ScorecardSpec,
    model: CompiledModel,
    rules: ReasonFinder['rules'] | null,
    baseline: ReasonBaseline | null,
  ): ReasonTexts | null {
    const finder = rules === null ? null : reasonFinderOf(model, rules, baseline)
    return finder === null ? null : new ReasonTexts(spec, model, finder, baseline)
  }

  /** The reasons of an applicant, and all that `find` says of them. */
  answers(
    slots: ArrayLike<number>,
    lang: string,
  ): { readonly found: FoundReasons; readonly reasons: readonly ReasonAnswer[] } {
    const found = this.finder.find(slots, this.finder.rules.max)
    return { found, reasons: JSON.parse(`[${this.itemsText(found, slots, lang)}]`) }
  }

  /** Reasons and key factors of an applicant, each property with a comma before it. */
  reasons(slots: ArrayLike<number>, { max, lang }: ReasonsWanted): string {
    const { finder } = this
    const found = finder.find(slots, max ?? finder.rules.max)
    const items = this.itemsText(found, slots, lang)
    return `,"reasons":[${items}]${flagsText(found)},"key_factors":[${this.keyFactorsText(found)}]`
  }

  private itemsText({ reasons }: FoundReasons, slots: ArrayLike<number>, lang: string): string {
    const texts = this.textsOf(lang)
    let items = ''
    for (let index = 0; index < reasons.length; index++) {
      const reason = reasons[index]
      if (reason === undefined) continue
      items += `${index === 0 ? '{"rank":' : ',{"rank":'}${index + 1},${this.reasonText(reason, slots, texts)}`
    }
    return items
  }

  private reasonText(reason: Reason, slots: ArrayLike<number>, texts: LanguageTexts): string {
    const { features, distance } = reason
    const slot = slots[features[0] ?? 0] ?? 0
    // Other features of the code may have taken from the distance, with the aggregate `net`.
    const isOfSlot = features.length === 1 && this.finder.distanceOf(slot) === distance
    if (!isOfSlot) return this.composedText(reason, slots, texts)
    const known = texts.reasons[slot]
    if (known !== undefined) return known
    const text = this.composedText(reason, slots, texts)
    texts.reasons[slot] = text
    return text
  }

  private composedText(
    { code, distance, features }: Reason,
    slots: ArrayLike<number>,
    texts: LanguageTexts,
  ): string {
    let names = ''
    let labels = ''
    for (const [index, feature] of features.entries()) {
      const comma = index === 0 ? '' : ','
      names += `${comma}${this.names[feature]}`
      labels += `${comma}${this.binText(feature, slots[feature] ?? 0, texts)}`
    }
    const codeText = this.codeText(code, texts)
    return `${codeText},"distance":${distance},"features":[${names}],"bin_labels":[${labels}]}`
  }

  private keyFactorsText({ keyFactors }: FoundReasons): string {
    let text = ''
    for (let index = 0; index < keyFactors.length; index++) {
      text += `${index === 0 ? '' : ','}${this.codes[keyFactors[index] ?? 0]}`
    }
    return text
  }

  private codeText(code: number, { lang, codes }: LanguageTexts): string {
    const known = codes[code]
    if (known !== undefined) return known
    const { rules } = this.finder
    const name = rules.codes[code] ?? ''
    const { reason_codes: ofCodes = {} } = rules.spec
    const own = Object.hasOwn(ofCodes, name) ? textIn(ofCodes[name], lang) : null
    const text = `"code":${this.codes[code]},"text":${JSON.stringify(own ?? name)}`
    codes[code] = text
    return text
  }

  private binText(feature: number, slot: number, { lang, bins }: LanguageTexts): string {
    const known = bins[slot]
    if (known !== undefined) return known
    const bin = this.model.binOfSlot[slot] ?? -1
    const label = this.finder.rules.spec.features[feature]?.bins[bin]?.label
    const own = bin < 0 ? null : (textIn(label, lang) ?? binTextOf(this.spec, feature, bin))
    const text = JSON.stringify(own)
    bins[slot] = text
    return text
  }

  private textsOf(lang: string): LanguageTexts {
    if (this.latest?.lang === lang) return this.latest
    const known = this.languages.get(lang)
    if (known !== undefined) {
      this.latest = known
      return known
    }
    if (this.languages.size >= LANGUAGES_HELD_MAX) this.languages.clear()
    const texts = { lang, codes: [], bins: [], reasons: [] }
    this.languages.set(lang, texts)
    this.latest = texts
    return texts
  }
}

function flagsText({ isTruncated, isEmpty }: FoundReasons): string {
  return `${isTruncated ? ',"reasons_truncated":true' : ''}${isEmpty ? ',"no_adverse_factor":true' : ''}`
}

/** A reason as an answer has it. */
export interface ReasonAnswer {
  readonly rank: number
  readonly code: string
  readonly text: string
  readonly distance: number
  readonly features: readonly string[]
  readonly bin_labels: readonly (string | null)[]
}
