// What the scripts share: each row of the table that a script tries is a function, and its outcome a
// line on standard output, which TestClients reads.
export const [url, models] = process.argv.slice(2)
export const key = 'none'
export const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

export async function row (name, f) {
  let outcome = 'yes'
  try { await f() } catch (e) { console.error(name, e); outcome = 'no' }
  console.log(name + '\t' + outcome)
}

// aborted waits until the model has noticed that nobody reads its answer any more. A conversation that
// etui keeps waits ten seconds for its client to come back.
export async function aborted () {
  for (let i = 0; i < 400; i++) {
    if (await (await fetch(models + '/aborted')).json() > 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the model was not stopped')
}
