import { html } from 'htm/preact'
import { certificateRows, gapText, verdictText } from './certificate-text.ts'
import type { Certificate } from './types.ts'
import { Notice, Table } from './ui.ts'

/** Certificate that a model gives the same scores as the tool it comes from. */
export function Proof({ certificate }: { certificate: Certificate }) {
  return html`<section><h2>Parity with the tool</h2>
    <${Verdict} certificate=${certificate} />
    <${CertificateTable} certificate=${certificate} />
  </section>`
}

/** The certificate in words; what was not checked comes first. */
export function Verdict({ certificate }: { certificate: Certificate }) {
  const gap = gapText(certificate)
  const kind = !certificate.agrees ? 'fault' : gap === null ? 'good' : 'info'
  return html`<${Notice} kind=${kind}>
    ${gap && html`<p><strong>${gap}</strong></p>`}
    <p>${verdictText(certificate)}</p>
  <//>`
}

export function CertificateTable({ certificate }: { certificate: Certificate }) {
  return html`<details class="whole">
    <summary>The certificate</summary>
    <${Table} caption="Parity certificate" head=${['What', 'Figure']}>
      ${certificateRows(certificate).map(
        ([name, value]) =>
          html`<tr><th scope="row">${name}</th><td class="value">${value}</td></tr>`,
      )}
    <//>
  </details>`
}
