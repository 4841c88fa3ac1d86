import {
  binTextOf,
  type CompiledModel,
  DEFAULT_LANGUAGE,
  type FoundReasons,
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

/** Texts of a language, each made when it is first needed. */
interface LanguageTexts {
  readonly codes: Map<number, string>
  readonly bins: Map<number, string>
}

/** Tags that callers name can't fill the memory: beyond these, texts are made anew. */
const LANGUAGES_HELD_MAX = 8

/**
 * Writes the reasons of a model's scores as JSON, from prepared pieces: everyone in a bin has the
 * same texts.
 */
export class ReasonTexts {
  readonly finder: ReasonFinder
  private readonly spec: ScorecardSpec
  private readonly model: CompiledModel
  private readonly languages = new Map<string, LanguageTexts>()
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
    return `,"reasons":[${items}]${flagsText(found)},"key_factors":${this.keyFactorsText(found)}`
  }

  private itemsText(found: FoundReasons, slots: ArrayLike<number>, lang: string): string {
    const texts = this.textsOf(lang)
    let items = ''
    for (const [index, reason] of found.reasons.entries()) {
      items += `${index === 0 ? '' : ','}{"rank":${index + 1},${this.codeText(reason.code, lang, texts)},"distance":${reason.distance}`
      items += this.featuresText(reason.features, slots, lang, texts)
    }
    return items
  }

  private featuresText(
    features: readonly number[],
    slots: ArrayLike<number>,
    lang: string,
    texts: LanguageTexts,
  ): string {
    let names = ''
    let labels = ''
    for (const [index, feature] of features.entries()) {
      const comma = index === 0 ? '' : ','
      names += `${comma}${JSON.stringify(this.model.featureNames[feature])}`
      labels += `${comma}${this.binText(feature, slots[feature] ?? 0, lang, texts)}`
    }
    return `,"features":[${names}],"bin_labels":[${labels}]}`
  }

  private keyFactorsText({ keyFactors }: FoundReasons): string {
    const { codes } = this.finder.rules
    return JSON.stringify(keyFactors.map((code) => codes[code]))
  }

  private codeText(code: number, lang: string, { codes }: LanguageTexts): string {
    const known = codes.get(code)
    if (known !== undefined) return known
    const { rules } = this.finder
    const name = rules.codes[code] ?? ''
    const { reason_codes: ofCodes = {} } = rules.spec
    const own = Object.hasOwn(ofCodes, name) ? textIn(ofCodes[name], lang) : null
    const text = `"code":${JSON.stringify(name)},"text":${JSON.stringify(own ?? name)}`
    codes.set(code, text)
    return text
  }

  private binText(feature: number, slot: number, lang: string, { bins }: LanguageTexts): string {
    const known = bins.get(slot)
    if (known !== undefined) return known
    const bin = this.model.binOfSlot[slot] ?? -1
    const label = this.finder.rules.spec.features[feature]?.bins[bin]?.label
    const own = bin < 0 ? null : (textIn(label, lang) ?? binTextOf(this.spec, feature, bin))
    const text = JSON.stringify(own)
    bins.set(slot, text)
    return text
  }

  private textsOf(lang: string): LanguageTexts {
    const known = this.languages.get(lang)
    if (known !== undefined) return known
    if (this.languages.size >= LANGUAGES_HELD_MAX) this.languages.clear()
    const texts = { codes: new Map<number, string>(), bins: new Map<number, string>() }
    this.languages.set(lang, texts)
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
