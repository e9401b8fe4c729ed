(function () {
  const states = [...document.querySelectorAll('input[name=state]')];
  const operator = document.getElementById('operator');
  const told = document.getElementById('shown');
  function show() {
    const wanted = new Set(states.filter(s => s.checked).map(s => s.value));
    let count = 0;
    for (const line of document.querySelectorAll('details[data-line]')) {
      let here = 0;
      for (const mutant of line.querySelectorAll('li[data-state]')) {
        const fits = wanted.has(mutant.dataset.state) && (!operator.value || operator.value === mutant.dataset.operator);
        mutant.hidden = !fits;
        here += fits;
      }
      line.querySelector('.badge').textContent = here ? here + (here === 1 ? ' mutant' : ' mutants') : '';
      line.classList.toggle('empty', here === 0);
      count += here;
    }
    told.textContent = count + ' mutants shown';
  }
  for (const control of [...states, operator]) control.addEventListener('change', show);
  document.getElementById('open').addEventListener('click', function () {
    for (const line of document.querySelectorAll('details.survived')) line.open = true;
  });
  document.getElementById('controls').hidden = false;
  show();
})();
